/** The queue: a list, the open comment beside it, and a key for each decision. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { useCommentDialogs } from './comment-dialogs.tsx';
import { QUEUE_DECISIONS } from './decisions.ts';
import { useKeys } from './keys.ts';
import { Holder, OpenEntry, Tag } from './open-entry.tsx';
import { Ago, Problem, useConsole, useNow } from './parts.tsx';
import { Person } from './person.tsx';
import {
  chosen,
  currentOf,
  goOn,
  moveByKey,
  open,
  otherHolder,
  overrule,
  type ReviewState,
  toggleMark,
} from './review-state.ts';
import { listHref } from './route.ts';
import { Swipe, SwipeHint } from './swipe.tsx';
import { DWELL_MS, useMember } from './use-member.ts';
import { useQueue } from './use-queue.ts';
import type { Decision, QueuePart } from './wire.ts';

/** So many entries before the end the next page is loaded. */
const LOAD_AHEAD = 5;

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
  const list = useRef<HTMLElement>(null);
  const toList = () => {
    setPane('list');
    list.current?.scrollTo({ top: 0 });
  };

  return (
    <div class={`review at-${pane}`}>
      <section class="queue" aria-label={text[kind]} ref={list}>
        <p class="quiet bar">
          <a href={listHref(kind)} onClick={toList}>
            {text.waiting(state.count)}
          </a>
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
          <button type="button" onClick={toList}>
            <span aria-hidden="true">‹</span> {text.backToList}
          </button>{' '}
          <a class="quiet" href={listHref(kind)} onClick={toList}>
            {text.waiting(state.count)}
          </a>
        </p>
        {entry ? (
          <Swipe
            key={entry.comment.id}
            onDecide={(action) => queue.decide(action, [entry.comment.id])}
          >
            <SwipeHint />
            <OpenEntry
              entry={entry}
              holder={otherHolder(state, entry)}
              onGoOn={() => setState(goOn(state))}
              isOverruled={state.overruled === entry.comment.id}
              onOverrule={() => setState(overrule(state))}
            />
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
      {state.entries.map((entry) => {
        const { comment, why, written, waiting_since } = entry;
        const isOpen = comment.id === state.current;
        const holder = otherHolder(state, entry);
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
                  {holder && <Holder holder={holder} />}
                  <small>
                    <Ago at={waiting_since} now={now} />
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
