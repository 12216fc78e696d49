/** The settings that admins change, as one form. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiProblem } from '../api/problem.ts';
import { fieldDetail } from '../api/problem-details.ts';
import { isConflict, Problem, useConsole } from './parts.tsx';
import { listHref } from './route.ts';
import { inOrder, sectionName, settingName } from './setting-names.ts';
import {
  changedSince,
  fieldsOf,
  patchOf,
  rebased,
  type SettingField,
  typedList,
  typedNumber,
} from './settings-form.ts';
import { timeFormat } from './text.ts';
import type { AdminSettings, SettingValue } from './wire.ts';

export function Settings() {
  const { client, session, text, language, say } = useConsole();
  const [settings, setSettings] = useState<AdminSettings | null>(null);
  const [changed, setChanged] = useState<ReadonlyMap<string, SettingValue>>(new Map());
  const [problem, setProblem] = useState<unknown>(null);
  const [conflicts, setConflicts] = useState(0);
  const isAdmin = session.role === 'admin';

  const load = useCallback(() => {
    setProblem(null);
    client.settings().then(setSettings, setProblem);
  }, [client]);
  useEffect(() => {
    if (isAdmin) load();
  }, [isAdmin, load]);

  if (!isAdmin) return <p class="page quiet">{text.adminsOnly}</p>;
  if (!settings) {
    return (
      <section class="page">
        {problem ? <Problem problem={problem} onRetry={load} /> : <p>{text.loading}</p>}
      </section>
    );
  }

  const fields = fieldsOf(settings.settings);
  const patch = patchOf(fields, changed);
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!patch) return;
    setProblem(null);
    try {
      setSettings(await client.changeSettings(patch, settings.version));
      // What was changed meanwhile is not saved yet.
      setChanged((now) => changedSince(now, changed));
      say(text.saved);
    } catch (error) {
      setProblem(error);
      if (!isConflict(error)) return;
      const now = await client.settings();
      setSettings(now);
      setChanged((own) => rebased(own, fields, fieldsOf(now.settings)));
      // A field that is typed into shows what it has become.
      setConflicts((count) => count + 1);
      say(text.overtaken);
    }
  };
  const sectionOf = ({ name }: SettingField) => name.split('.')[0] ?? name;
  const sections = inOrder([...new Set(fields.map(sectionOf))]);
  return (
    <form class="page" onSubmit={(event) => void save(event)}>
      <h2>
        {text.settings}{' '}
        <small>
          <a href={listHref('audit', { action: 'settings' })}>{text.version(settings.version)}</a>
        </small>
      </h2>
      {sections.map((section) => (
        <fieldset key={section}>
          <legend>{sectionName(section, language)}</legend>
          {fields
            .filter((field) => sectionOf(field) === section)
            .map((field) => (
              <Field
                key={`${field.name} ${conflicts}`}
                field={field}
                value={changed.has(field.name) ? (changed.get(field.name) ?? null) : field.value}
                isFixed={settings.fixed.includes(field.name)}
                problem={problem instanceof ApiProblem ? fieldDetail(problem, field.name) : null}
                onChange={(value) => setChanged((now) => new Map(now).set(field.name, value))}
              />
            ))}
        </fieldset>
      ))}
      {problem ? <Problem problem={problem} /> : null}
      <p class="buttons sticky">
        <button type="submit" class="good" disabled={!patch}>
          {text.save}
        </button>
      </p>
    </form>
  );
}

interface FieldProps {
  field: SettingField;
  value: SettingValue;
  isFixed: boolean;
  problem: string | null;
  onChange: (value: SettingValue) => void;
}

function Field(props: FieldProps) {
  const { text, language } = useConsole();
  const { field, isFixed, problem } = props;
  const noteId = `note-${field.name}`;
  const notes = [isFixed && text.fixed, field.kind === 'list' && text.onePerLine, problem];
  const note = notes.filter(Boolean).join(' · ');
  return (
    <div class={`field setting ${field.kind}`}>
      <label for={`setting-${field.name}`}>
        {settingName(field.name, language)} <code class="quiet">{field.name}</code>
      </label>
      <Input {...props} noteId={noteId} />
      <small id={noteId} class={problem ? 'bad-text' : 'quiet'}>
        {note}
      </small>
    </div>
  );
}

function Input({
  field: { name, kind, choices },
  value,
  isFixed,
  problem,
  onChange,
  noteId,
}: FieldProps & { noteId: string }) {
  const { text, language } = useConsole();
  const common = {
    id: `setting-${name}`,
    disabled: isFixed,
    'aria-describedby': noteId,
    'aria-invalid': problem ? ('true' as const) : ('false' as const),
  };
  switch (kind) {
    case 'switch':
      return (
        <label class="check" for={common.id}>
          <input
            {...common}
            type="checkbox"
            checked={value === true}
            onChange={(event) => onChange(event.currentTarget.checked)}
          />
        </label>
      );
    case 'number':
      return (
        <input
          {...common}
          type="number"
          min={0}
          placeholder={text.none}
          value={typeof value === 'number' ? String(value) : ''}
          onInput={(event) => onChange(typedNumber(event.currentTarget.value))}
        />
      );
    case 'time':
      return (
        <>
          <output id={common.id} aria-describedby={noteId}>
            {typeof value === 'number'
              ? text.tokensRefused(timeFormat(language).format(value))
              : text.everyToken}
          </output>
          <p class="buttons">
            <button type="button" disabled={isFixed} onClick={() => onChange(Date.now())}>
              {text.refuseTokens}
            </button>
            {value !== null && (
              <button type="button" disabled={isFixed} onClick={() => onChange(null)}>
                {text.acceptTokens}
              </button>
            )}
          </p>
        </>
      );
    case 'choice':
      return (
        <select
          {...common}
          value={String(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      );
    case 'list':
      return (
        <textarea
          {...common}
          rows={4}
          defaultValue={Array.isArray(value) ? value.join('\n') : ''}
          onInput={(event) => onChange(typedList(event.currentTarget.value))}
        />
      );
  }
}
