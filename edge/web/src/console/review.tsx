/** The queue: a list, the open comment beside it, and a key for each decision. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { MAX_DECISIONS } from './client.ts';
import { useCommentDialogs } from './comment-dialogs.tsx';
import { QUEUE_DECISIONS } from './decisions.ts';
import { useKeys } from './keys.ts';
import { OpenEntry, Tag } from './open-entry.tsx';
import { Problem, useConsole, useNow } from './parts.tsx';
import { Person } from './person.tsx';
import {
  addPage,
  chosen,
  currentOf,
  EMPTY,
  moveByKey,
  open,
  putBack,
  type ReviewState,
  type TakenEntry,
  take,
  toggleMark,
} from './review-state.ts';
import { Swipe, SwipeHint } from './swipe.tsx';
import { ago } from './text.ts';
import { useMember } from './use-member.ts';
import type { Decision, DecisionOutcome, QueuePart } from './wire.ts';

/** So many entries before the end the next page is loaded. */
const LOAD_AHEAD = 5;
/** So long a comment is open before its author is read. */
const DWELL_MS = 400;

/** The queue with what can be done in it. */
function useQueue(kind: QueuePart) {
  const { client, session, say, text, countAgain, offerUndo } = useConsole();
  const [state, setState] = useState<ReviewState>(EMPTY);
  const [isLoading, setLoading] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const gone = useRef(new Set<string>());

  const load = useCallback(
    async (cursor: string | null) => {
      setLoading(true);
      setProblem(null);
      try {
        const page = await client.queue(kind, cursor);
        setState((before) =>
          addPage(cursor ? before : { ...EMPTY, reader: session.id }, page, gone.current),
        );
      } catch (error) {
        setProblem(error);
      } finally {
        setLoading(false);
      }
    },
    [client, kind, session.id],
  );

  const reload = useCallback(() => {
    gone.current.clear();
    return load(null);
  }, [load]);

  useEffect(() => void reload(), [reload]);

  const returnToQueue = (taken: readonly TakenEntry[]) => {
    for (const { entry } of taken) gone.current.delete(entry.comment.id);
    setState((before) => putBack(before, taken));
  };

  /** Carries out a decision about entries that were taken from the queue; those that fail come back. */
  const carryOut = async (ids: string[], action: Decision, taken: TakenEntry[]) => {
    let outcomes: DecisionOutcome[];
    try {
      outcomes = await client.decide(ids, action);
    } catch (error) {
      returnToQueue(taken);
      throw error;
    }
    countAgain();
    const failed = new Set(outcomes.filter(({ status }) => status !== 200).map(({ id }) => id));
    const isDecided = ({ entry }: TakenEntry) => !failed.has(entry.comment.id);
    if (failed.size > 0) {
      returnToQueue(taken.filter((one) => !isDecided(one)));
      say(text.someFailed(failed.size));
    }
    const auditIds = outcomes.flatMap(({ audit_id }) => (audit_id ? [audit_id] : []));
    if (auditIds.length === 0) return null;
    return async () => {
      returnToQueue(taken.filter(isDecided));
      try {
        for (const id of auditIds) await client.undo(id);
        countAgain();
      } catch (error) {
        void reload();
        throw error;
      }
    };
  };

  /** About these comments; about the marked ones, else the open one, where none are named. */
  const decide = (action: Decision, named: readonly string[] = chosen(state)) => {
    const ids = named.slice(0, MAX_DECISIONS);
    if (ids.length === 0) return;
    // What is featured still waits.
    const { state: next, taken } = action === 'feature' ? { state, taken: [] } : take(state, ids);
    setState(next);
    for (const { entry } of taken) gone.current.add(entry.comment.id);
    offerUndo(text.done(text[action], ids.length), carryOut(ids, action, taken));
  };

  return { state, setState, isLoading, problem, load, reload, decide };
}

export function Review({ kind }: { kind: QueuePart }) {
  const { text } = useConsole();
  const queue = useQueue(kind);
  const { state, setState, load, isLoading } = queue;
  const [pane, setPane] = useState<'list' | 'comment'>('list');
  const entry = currentOf(state);
  const author = useMember(entry?.comment.author?.id ?? null, DWELL_MS);
  const dialogs = useCommentDialogs(entry?.comment ?? null, (member) =>
    author.setMember((before) => (before?.id === member.id ? member : before)),
  );

  const place = entry ? state.entries.indexOf(entry) : -1;
  const isNearEnd = place >= state.entries.length - LOAD_AHEAD;
  useEffect(() => {
    if (state.next && isNearEnd && !isLoading && !queue.problem) void load(state.next);
  }, [state.next, isNearEnd, isLoading, load, queue.problem]);

  const act = (key: string, isShifted: boolean): boolean => {
    const decision = QUEUE_DECISIONS.find((other) => other.key === key);
    const moved = moveByKey(state, key, isShifted);
    if (decision) queue.decide(decision.action);
    else if (moved) setState(moved);
    else return dialogs.openByKey(key);
    return true;
  };
  useKeys(act);

  return (
    <div class={`review at-${pane}`}>
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
        {state.entries.length > 0 && <SwipeHint />}
        <QueueList
          state={state}
          onDecide={(action, id) => queue.decide(action, [id])}
          onOpen={(id) => {
            setState(open(state, id));
            setPane('comment');
          }}
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
      <section class="open">
        <p class="back">
          <button type="button" onClick={() => setPane('list')}>
            <span aria-hidden="true">‹</span> {text.backToList}
          </button>{' '}
          <span class="quiet">{text.waiting(state.count)}</span>
        </p>
        {entry ? (
          <Swipe
            key={entry.comment.id}
            onDecide={(action) => queue.decide(action, [entry.comment.id])}
          >
            <SwipeHint />
            <OpenEntry entry={entry} />
          </Swipe>
        ) : (
          <p class="quiet nothing">{!isLoading && text.nothingWaits}</p>
        )}
        {author.member && <Person member={author.member} />}
      </section>
      <Actions
        isEnabled={chosen(state).length > 0}
        marked={state.marked.size}
        onKey={(key) => act(key, false)}
      />
      {dialogs.dialog}
    </div>
  );
}

function QueueList({
  state,
  onDecide,
  onOpen,
  onMark,
}: {
  state: ReviewState;
  onDecide: (action: Decision, id: string) => void;
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
            <Swipe onDecide={(action) => onDecide(action, comment.id)}>
              <label class="check">
                <input
                  type="checkbox"
                  aria-label={`${text.mark} ${comment.author?.name ?? ''}`}
                  checked={state.marked.has(comment.id)}
                  onChange={() => onMark(comment.id)}
                />
              </label>
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
            </Swipe>
          </li>
        );
      })}
    </ul>
  );
}

/** A button for each key. What decides is about all that are marked. */
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
  const times = marked > 1 ? ` × ${marked}` : '';
  const button = (key: string, label: string, look: string) => (
    <button key={key} type="button" class={look} disabled={!isEnabled} onClick={() => onKey(key)}>
      {label} <kbd>{key.toUpperCase()}</kbd>
    </button>
  );
  return (
    <div
      class={marked > 0 ? 'actions for-marked' : 'actions'}
      role="toolbar"
      aria-label={text.action}
    >
      {QUEUE_DECISIONS.map(({ action, key, look }) => button(key, text[action] + times, look))}
      {button('m', text.mute, 'of-open')}
      {button('w', text.addWord, 'of-open')}
      {button('x', text.mark, 'of-open by-key')}
      {button('j', text.next, 'of-open')}
    </div>
  );
}
