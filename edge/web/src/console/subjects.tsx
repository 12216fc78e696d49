/** Threads: found by what their key or title contains and by their state, closed, opened, hidden, shown and edited. */

import { useCallback, useState } from 'preact/hooks';
import { Ago, MoreButton, useConsole, useNow, usePages } from './parts.tsx';
import { listHref, memberHref, threadHref } from './route.ts';
import { SubjectDialog } from './subject-dialog.tsx';
import { formerFields } from './subject-patch.ts';
import type { ModeratedSubject, SubjectPatch, SubjectState } from './wire.ts';

const STATES: readonly SubjectState[] = ['open', 'closed', 'hidden'];
const MAX_QUERY_CHARS = 200;

interface StateButton {
  next: SubjectState;
  label: 'openSubject' | 'closeSubject' | 'hideSubject' | 'showSubject' | 'showClosedSubject';
  look: string;
}

const CLOSE: StateButton = { next: 'closed', label: 'closeSubject', look: 'bad' };
const HIDE: StateButton = { next: 'hidden', label: 'hideSubject', look: '' };

/** What can be done with a thread in each state. */
const STATE_BUTTONS: Record<SubjectState, readonly StateButton[]> = {
  open: [CLOSE, HIDE],
  closed: [{ next: 'open', label: 'openSubject', look: 'good' }, HIDE],
  hidden: [
    { next: 'open', label: 'showSubject', look: 'good' },
    { next: 'closed', label: 'showClosedSubject', look: '' },
  ],
};

const nameOf = ({ type, key }: ModeratedSubject) => `${type}/${key}`;
const isSame = (a: ModeratedSubject, b: ModeratedSubject) => nameOf(a) === nameOf(b);

export function Subjects({ q, state }: { q: string; state: string }) {
  const { client, text } = useConsole();
  const [edited, setEdited] = useState<ModeratedSubject | null>(null);
  const load = useCallback(
    (cursor: string | null) => client.subjects({ q: q || null, state: state || null, cursor }),
    [client, q, state],
  );
  const list = usePages<ModeratedSubject>(load);
  const change = useSubjectChange((changed) =>
    list.change((items) =>
      items.map((item) => (isSame(item, changed) ? { ...item, ...changed } : item)),
    ),
  );
  const isEmpty = list.items.length === 0 && !list.isLoading && !list.problem && !list.next;
  return (
    <section class="page">
      <h2>{text.subjects}</h2>
      <SubjectForm q={q} state={state} />
      {isEmpty && <p class="quiet">{text.nothingFound}</p>}
      <ul class="comments">
        {list.items.map((subject) => (
          <SubjectCard
            key={nameOf(subject)}
            subject={subject}
            onState={(next) => void change(subject, { state: next }).catch(() => {})}
            onEdit={() => setEdited(subject)}
          />
        ))}
      </ul>
      <MoreButton list={list} />
      {edited && (
        <SubjectDialog
          subject={edited}
          name={nameOf(edited)}
          onSave={(patch) => change(edited, patch)}
          onClose={() => setEdited(null)}
        />
      )}
    </section>
  );
}

/** A function that changes a subject; `onChanged` gets it after the change, also when that was taken back. */
function useSubjectChange(onChanged: (subject: ModeratedSubject) => void) {
  const { client, text, offerUndo } = useConsole();
  return (before: ModeratedSubject, patch: SubjectPatch): Promise<unknown> => {
    const put = async (next: SubjectPatch) => {
      // The answer counts what readers see.
      const { comments, roots, last_activity } = before;
      const changed = await client.changeSubject(before, next);
      onChanged({ ...changed, comments, roots, last_activity });
    };
    const done = put(patch).then(() => () => put(formerFields(before, patch)));
    offerUndo(text.changed(before.title || nameOf(before)), done);
    return done;
  };
}

/** What is looked for. It is a new address, so it can be kept and sent on. */
function SubjectForm({ q, state }: { q: string; state: string }) {
  const { text } = useConsole();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget as HTMLFormElement);
    location.hash = listHref('subjects', {
      q: String(typed.get('q')).trim(),
      state: String(typed.get('state')),
    });
  };
  return (
    <search>
      <form class="card stack" key={`${state} ${q}`} onSubmit={submit}>
        <div class="fields">
          <label class="field">
            {text.subjectQuery}
            <input type="search" name="q" dir="auto" maxLength={MAX_QUERY_CHARS} defaultValue={q} />
          </label>
          <label class="field">
            {text.state}
            <select name="state" defaultValue={state}>
              <option value="">{text.anyState}</option>
              {STATES.map((one) => (
                <option key={one} value={one} selected={one === state}>
                  {text.subjectStates[one]}
                </option>
              ))}
            </select>
          </label>
        </div>
        <p class="buttons">
          <button type="submit" class="good">
            {text.find}
          </button>
          {(q || state) && <a href={listHref('subjects')}>{text.clearFilters}</a>}
        </p>
      </form>
    </search>
  );
}

function SubjectCard({
  subject,
  onState,
  onEdit,
}: {
  subject: ModeratedSubject;
  onState: (next: SubjectState) => void;
  onEdit: () => void;
}) {
  const { text, hasSearch } = useConsole();
  const now = useNow();
  const { title, state, mode, owner_id, comments, last_activity } = subject;
  const name = nameOf(subject);
  const tone = { open: 'is-published', closed: 'is-review', hidden: 'is-rejected' }[state];
  return (
    <li class="card" data-subject={name}>
      <p class="line">
        <b dir="auto">{title || name}</b>
        <span class={`tag ${tone}`}>{text.subjectStates[state]}</span>
        <span class="tag">{text.modes[mode]}</span>
        {last_activity !== null && (
          <small>
            <Ago at={last_activity} now={now} />
          </small>
        )}
      </p>
      {title && (
        <p class="quiet" dir="auto">
          {name}
        </p>
      )}
      <p class="links">
        {hasSearch ? (
          <>
            <a href={listHref('comments', { subject: name, state: 'published' })}>
              {text.commentsOf(comments)}
            </a>
            <a href={listHref('comments', { subject: name })}>{text.ofAnyState}</a>
          </>
        ) : (
          <span>{text.commentsOf(comments)}</span>
        )}
        <a href={threadHref(subject)}>{text.asReadersSee}</a>
        {owner_id && <a href={memberHref(owner_id)}>{text.ownerOf(owner_id)}</a>}
      </p>
      <p class="buttons">
        {STATE_BUTTONS[state].map(({ next, label, look }) => (
          <button key={next} type="button" class={look} onClick={() => onState(next)}>
            {text[label]}
          </button>
        ))}
        <button type="button" onClick={onEdit}>
          {text.editSubject}
        </button>
      </p>
    </li>
  );
}
