/** The queue: a list, the open comment in its building, and a key for each decision. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Comment } from '../api/wire.ts';
import { MAX_DECISIONS } from './client.ts';
import { CommentHtml, isConflict, Problem, problemText, useConsole, useNow } from './parts.tsx';
import {
  addPage,
  chosen,
  currentOf,
  type Decided,
  EMPTY,
  lastUndoable,
  moveByKey,
  open,
  putBack,
  type ReviewState,
  take,
  toggleMark,
  UNDO_OFFER_MS,
} from './review-state.ts';
import { ago, type ConsoleText } from './text.ts';
import type { Decision, FormerText, QueueEntry, QueuePart, Report, ReviewReason } from './wire.ts';

/** A lease ends after a minute. */
const LEASE_RENEWAL_MS = 30_000;
/** So many entries before the end the next page is loaded. */
const LOAD_AHEAD = 5;

const DECISIONS: { action: Decision; key: string; look: string }[] = [
  { action: 'approve', key: 'a', look: 'good' },
  { action: 'reject', key: 'r', look: 'bad' },
  { action: 'hide', key: 'h', look: '' },
  { action: 'delete', key: 'd', look: '' },
  { action: 'feature', key: 'f', look: '' },
];

/** The queue with what can be done in it. */
function useQueue(kind: QueuePart) {
  const { client, say, text, countAgain } = useConsole();
  const [state, setState] = useState<ReviewState>(EMPTY);
  const [decided, setDecided] = useState<Decided[]>([]);
  const [isLoading, setLoading] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const gone = useRef(new Set<string>());

  const load = useCallback(
    async (cursor: string | null) => {
      setLoading(true);
      setProblem(null);
      try {
        const page = await client.queue(kind, cursor);
        setState((before) => addPage(cursor ? before : EMPTY, page, gone.current));
      } catch (error) {
        setProblem(error);
      } finally {
        setLoading(false);
      }
    },
    [client, kind],
  );

  const reload = useCallback(() => {
    gone.current.clear();
    return load(null);
  }, [load]);

  useEffect(() => {
    setDecided([]);
    void reload();
  }, [reload]);

  const returnToQueue = (done: Decided) => {
    for (const { entry } of done.taken) gone.current.delete(entry.comment.id);
    setDecided((all) => all.filter((other) => other.at !== done.at));
    setState((before) => putBack(before, done.taken));
  };

  const decide = async (action: Decision) => {
    const ids = chosen(state).slice(0, MAX_DECISIONS);
    if (ids.length === 0) return;
    const { state: next, taken } = take(state, ids);
    const done: Decided = { action, taken, auditIds: [], at: Date.now() };
    setState(next);
    for (const id of ids) gone.current.add(id);
    setDecided((all) => [...all.slice(-20), done]);
    say(text.done(text[action as keyof ConsoleText] as string, ids.length));
    try {
      const outcomes = await client.decide(ids, action);
      const auditIds = outcomes.flatMap(({ audit_id }) => (audit_id ? [audit_id] : []));
      const failed = new Set(
        outcomes.filter(({ status }) => status !== 200).map((outcome) => outcome.id),
      );
      setDecided((all) =>
        all.map((other) => (other.at === done.at ? { ...other, auditIds } : other)),
      );
      countAgain();
      if (failed.size > 0) {
        const back = taken.filter(({ entry }) => failed.has(entry.comment.id));
        for (const id of failed) gone.current.delete(id);
        setState((before) => putBack(before, back));
        say(text.someFailed(failed.size));
      }
    } catch (error) {
      returnToQueue(done);
      say(`${text.failed} ${problemText(error)}`);
    }
  };

  const undo = async () => {
    const last = lastUndoable(decided, Date.now());
    if (!last) return;
    returnToQueue(last);
    try {
      for (const id of last.auditIds) await client.undo(id);
      say(text.undone);
      countAgain();
    } catch (error) {
      say(isConflict(error) ? text.notUndone : `${text.failed} ${problemText(error)}`);
      void reload();
    }
  };

  return { state, setState, decided, isLoading, problem, load, reload, decide, undo };
}

export function Review({ kind }: { kind: QueuePart }) {
  const { text } = useConsole();
  const queue = useQueue(kind);
  const { state, setState, load, isLoading } = queue;
  const entry = currentOf(state);

  const place = entry ? state.entries.indexOf(entry) : -1;
  const isNearEnd = place >= state.entries.length - LOAD_AHEAD;
  useEffect(() => {
    if (state.next && isNearEnd && !isLoading && !queue.problem) void load(state.next);
  }, [state.next, isNearEnd, isLoading, load, queue.problem]);

  const act = (key: string, isShifted: boolean): boolean => {
    const decision = DECISIONS.find((other) => other.key === key);
    const moved = moveByKey(state, key, isShifted);
    if (decision) void queue.decide(decision.action);
    else if (key === 'z') void queue.undo();
    else if (moved) setState(moved);
    return decision !== undefined || key === 'z' || moved !== null;
  };
  useKeys(act);

  return (
    <div class="review">
      <section class="queue" aria-label={text[kind]}>
        <p class="quiet bar">
          <span>{text.waiting(state.count)}</span>
          <button type="button" onClick={() => void queue.reload()}>
            {text.refresh}
          </button>
        </p>
        {queue.problem ? (
          <Problem problem={queue.problem} onRetry={() => void queue.reload()} />
        ) : null}
        <QueueList
          state={state}
          onOpen={(id) => setState(open(state, id))}
          onMark={(id) => setState(toggleMark(state, id))}
        />
        {isLoading && <p class="quiet">{text.loading}</p>}
        {state.next && !isLoading && (
          <button type="button" class="more" onClick={() => void load(state.next)}>
            {text.loadMore}
          </button>
        )}
        {!isLoading && state.entries.length === 0 && !queue.problem && (
          <p class="quiet">{text.nothingWaits}</p>
        )}
      </section>
      <section class="open" aria-live="off">
        {entry && <OpenEntry key={entry.comment.id} entry={entry} />}
        <Actions
          isEnabled={chosen(state).length > 0}
          marked={state.marked.size}
          onKey={(key) => act(key, false)}
        />
        <UndoOffer decided={queue.decided} onUndo={() => void queue.undo()} />
      </section>
    </div>
  );
}

/** Calls `act` for keys that are not meant for a field; it says whether it took the key. */
function useKeys(act: (key: string, isShifted: boolean) => boolean): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as Element | null;
      const isTyping = target?.closest('input:not([type="checkbox"]), textarea, select');
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (latest.current(event.key.toLowerCase(), event.shiftKey)) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function QueueList({
  state,
  onOpen,
  onMark,
}: {
  state: ReviewState;
  onOpen: (id: string) => void;
  onMark: (id: string) => void;
}) {
  const { text } = useConsole();
  const now = useNow();
  const current = useRef<HTMLLIElement>(null);
  useEffect(() => current.current?.scrollIntoView({ block: 'nearest' }), [state.current]);
  return (
    <ul class="entries">
      {state.entries.map(({ comment, why, written, waiting_since }) => {
        const isOpen = comment.id === state.current;
        return (
          <li key={comment.id} class={isOpen ? 'on' : ''} ref={isOpen ? current : null}>
            <input
              type="checkbox"
              aria-label={`${text.mark} ${comment.author?.name ?? ''}`}
              checked={state.marked.has(comment.id)}
              onChange={() => onMark(comment.id)}
            />
            <button
              type="button"
              aria-current={isOpen ? 'true' : undefined}
              onClick={() => onOpen(comment.id)}
            >
              <span class="line">
                {why.slice(0, 2).map((reason) => (
                  <Tag key={`${reason.kind} ${reason.detail}`} reason={reason} />
                ))}
                <b dir="auto">{comment.author?.name}</b>
                <small>
                  {ago(text, waiting_since, now)}
                  {comment.likes > 0 && ` · ♥ ${comment.likes}`}
                </small>
              </span>
              <span class="start" dir="auto">
                {written}
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function reasonText(text: ConsoleText, { kind, detail, count }: ReviewReason): string {
  if (kind === 'report') return text.report(detail, count);
  return text[kind](detail);
}

function Tag({ reason }: { reason: ReviewReason }) {
  const { text } = useConsole();
  return <span class={`tag ${reason.kind}`}>{reasonText(text, reason)}</span>;
}

function OpenEntry({ entry }: { entry: QueueEntry }) {
  const { text } = useConsole();
  const { comment, context, why, written, published } = entry;
  const holder = useLease(entry);
  const subject = `${comment.subject.type}/${comment.subject.key}`;
  return (
    <article>
      <p class="quiet">
        <a href={`/t/${comment.subject.type}/${encodeURIComponent(comment.subject.key)}`}>
          {subject}
        </a>
        {comment.floor !== null && ` · ${text.floor(comment.floor)}`}
      </p>
      {holder && <p class="problem">{text.leasedBy(holder)}</p>}
      <Building floors={context} />
      <div class="now">
        <b dir="auto">{comment.author?.name}</b>{' '}
        {comment.author?.guest && <span class="tag">{text.guest}</span>}
        <CommentHtml html={comment.html} />
      </div>
      <h2 class="label">{text.whyHere}</h2>
      <p>{why.map((reason) => reasonText(text, reason)).join(' · ')}</p>
      {published !== null && (
        <>
          <h2 class="label">{text.published}</h2>
          <p class="plain" dir="auto">
            {published}
          </p>
        </>
      )}
      {written !== comment.content && (
        <>
          <h2 class="label">{text.written}</h2>
          <p class="plain" dir="auto">
            {written}
          </p>
        </>
      )}
      <Details comment={comment} hasReports={why.some(({ kind }) => kind === 'report')} />
    </article>
  );
}

/** The comments above, each floor standing on the ones before it. */
function Building({ floors }: { floors: Comment[] }) {
  const top = floors.at(-1);
  if (!top) return null;
  return (
    <div class="frame">
      <Building floors={floors.slice(0, -1)} />
      <div class="floor">
        <b dir="auto">{top.author?.name}</b> <CommentHtml html={top.html} />
      </div>
    </div>
  );
}

/** Reports and earlier texts, loaded when they are opened. */
function Details({ comment, hasReports }: { comment: Comment; hasReports: boolean }) {
  const { client, text } = useConsole();
  const now = useNow();
  const reports = useOpened<Report>(() => client.reports(comment.id));
  const history = useOpened<FormerText>(() => client.history(comment.id));
  return (
    <>
      {hasReports && (
        <details onToggle={reports.load}>
          <summary>{text.reports}</summary>
          {reports.problem ? <Problem problem={reports.problem} /> : null}
          <ul>
            {reports.items.map(({ member, reason, note, at }) => (
              <li key={member.id}>
                <b dir="auto">{member.name || member.id}</b> · {text.report(reason, 1)} ·{' '}
                {ago(text, at, now)}
                {note && <p dir="auto">{note}</p>}
              </li>
            ))}
          </ul>
        </details>
      )}
      {comment.edited_at !== null && (
        <details onToggle={history.load}>
          <summary>{text.history}</summary>
          {history.problem ? <Problem problem={history.problem} /> : null}
          <ol>
            {history.items.map(({ content, replaced_at }) => (
              <li key={replaced_at} class="plain" dir="auto">
                {content}
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

/** A list that is loaded the first time it is opened. */
function useOpened<Item>(read: () => Promise<{ data: Item[] }>) {
  const [items, setItems] = useState<Item[]>([]);
  const [problem, setProblem] = useState<unknown>(null);
  const isLoaded = useRef(false);
  const load = () => {
    if (isLoaded.current) return;
    isLoaded.current = true;
    read().then(({ data }) => setItems(data), setProblem);
  };
  return { items, problem, load };
}

/** Takes the comment for this moderator while it is open. Returns the name of another one who has it. */
function useLease({ comment: { id }, leased_by }: QueueEntry): string | null {
  const { client, text } = useConsole();
  const holderName = leased_by?.name || text.anotherModerator;
  const [holder, setHolder] = useState<string | null>(null);
  useEffect(() => {
    let isOpen = true;
    const renew = async () => {
      const leased = await client.lease([id]).catch(() => null);
      if (!isOpen || !leased) return;
      setHolder(leased.leased.includes(id) ? null : holderName);
    };
    void renew();
    const timer = setInterval(() => void renew(), LEASE_RENEWAL_MS);
    return () => {
      isOpen = false;
      clearInterval(timer);
    };
  }, [client, id, holderName]);
  return holder;
}

function Actions({
  isEnabled,
  marked,
  onKey,
}: {
  isEnabled: boolean;
  marked: number;
  onKey: (key: string) => void;
}) {
  const { text } = useConsole();
  const button = (key: string, label: string, look = '') => (
    <button type="button" class={look} disabled={!isEnabled} onClick={() => onKey(key)}>
      {label}
      {marked > 1 && look !== 'plain' ? ` × ${marked}` : ''} <kbd>{key.toUpperCase()}</kbd>
    </button>
  );
  return (
    <div class="actions" role="toolbar" aria-label={text.action}>
      {DECISIONS.map(({ action, key, look }) =>
        button(key, text[action as keyof ConsoleText] as string, look),
      )}
      {button('x', text.mark, 'plain')}
      {button('j', text.next, 'plain')}
    </div>
  );
}

/** The last decision, for as long as it can be undone here. */
function UndoOffer({ decided, onUndo }: { decided: Decided[]; onUndo: () => void }) {
  const { text } = useConsole();
  const [now, setNow] = useState(Date.now);
  const last = lastUndoable(decided, now);
  useEffect(() => {
    setNow(Date.now());
    const timer = setTimeout(() => setNow(Date.now()), UNDO_OFFER_MS + 100);
    return () => clearTimeout(timer);
  }, [decided]);
  if (!last) return null;
  return (
    <p class="offer">
      {text.done(text[last.action as keyof ConsoleText] as string, last.taken.length)}{' '}
      <button type="button" onClick={onUndo}>
        {text.undo} <kbd>Z</kbd>
      </button>
    </p>
  );
}
