/** What a moderator edits of a thread: its title, address, owner and mode. */

import { useId, useState } from 'preact/hooks';
import { ApiProblem } from '../api/problem.ts';
import { fieldDetail } from '../api/problem-details.ts';
import { Dialog } from './dialog.tsx';
import { Problem, useConsole } from './parts.tsx';
import { changedFields, SUBJECT_MODES, type SubjectForm } from './subject-patch.ts';
import { useMember } from './use-member.ts';
import type { ModeratedSubject, SubjectPatch } from './wire.ts';

const MAX_TEXT_CHARS = 1_000;
const MAX_ID_CHARS = 20;
/** So long no digit is typed before the member is read. */
const TYPING_MS = 300;
const IS_ID = /^\d+$/;

export function SubjectDialog({
  subject,
  name,
  onSave,
  onClose,
}: {
  subject: ModeratedSubject;
  /** Its type and key. */
  name: string;
  onSave: (patch: SubjectPatch) => Promise<unknown>;
  onClose: () => void;
}) {
  const { text } = useConsole();
  const { title, url, owner_id, mode } = subject;
  const [form, setForm] = useState<SubjectForm>({ title, url, owner_id, mode });
  const [problem, setProblem] = useState<unknown>(null);
  const patch = changedFields(subject, form);
  const set = (field: 'title' | 'url' | 'owner_id', value: string) => {
    setProblem(null);
    setForm((before) => ({ ...before, [field]: value.trim() || null }));
  };
  const wrong = (field: string) =>
    problem instanceof ApiProblem ? fieldDetail(problem, field) : null;
  const save = async (event: SubmitEvent, close: () => void) => {
    event.preventDefault();
    setProblem(null);
    try {
      await onSave(patch);
      close();
    } catch (error) {
      setProblem(error);
    }
  };
  const ownerProblem = wrong('owner_id');
  return (
    <Dialog title={name} onClose={onClose}>
      {(close) => (
        <form class="stack" onSubmit={(event) => void save(event, close)}>
          <label class="field">
            {text.subjectTitle}
            <input
              dir="auto"
              maxLength={MAX_TEXT_CHARS}
              defaultValue={title ?? ''}
              onInput={(event) => set('title', event.currentTarget.value)}
            />
          </label>
          <label class="field">
            {text.subjectAddress}
            <input
              type="url"
              maxLength={MAX_TEXT_CHARS}
              defaultValue={url ?? ''}
              onInput={(event) => set('url', event.currentTarget.value)}
            />
          </label>
          <Owner
            initial={owner_id}
            id={form.owner_id}
            problem={ownerProblem}
            onInput={(id) => set('owner_id', id)}
          />
          <label class="field">
            {text.subjectMode}
            <select
              value={form.mode}
              onChange={(event) => {
                const chosen = event.currentTarget.value as SubjectForm['mode'];
                setForm((before) => ({ ...before, mode: chosen }));
              }}
            >
              {SUBJECT_MODES.map((one) => (
                <option key={one} value={one}>
                  {text.modes[one]}
                </option>
              ))}
            </select>
          </label>
          {problem && !ownerProblem ? <Problem problem={problem} /> : null}
          <p class="buttons">
            <button type="submit" class="good" disabled={Object.keys(patch).length === 0}>
              {text.save}
            </button>
          </p>
        </form>
      )}
    </Dialog>
  );
}

/** The id of the owner, with the name that it belongs to. */
function Owner({
  initial,
  id,
  problem,
  onInput,
}: {
  initial: string | null;
  id: string | null;
  problem: string | null;
  onInput: (id: string) => void;
}) {
  const { text } = useConsole();
  const { member } = useMember(id && IS_ID.test(id) ? id : null, TYPING_MS);
  const hintId = useId();
  const found = member && (member.name ? text.ownerNamed(member.name) : text.ownerUnknown);
  return (
    <label class="field">
      {text.subjectOwner}
      <input
        inputMode="numeric"
        autocomplete="off"
        maxLength={MAX_ID_CHARS}
        defaultValue={initial ?? ''}
        aria-invalid={problem !== null}
        aria-describedby={hintId}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <small id={hintId} class={problem ? 'bad-text' : 'quiet'} role={problem ? 'alert' : 'status'}>
        {problem ?? found ?? text.subjectOwnerText}
      </small>
    </label>
  );
}
