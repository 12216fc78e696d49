/** The queue as one moderator sees it: which entry is open, which are marked. Pure: each function returns the next state. */

import type { QueueEntry, QueuePage } from './wire.ts';

export interface ReviewState {
  entries: QueueEntry[];
  /** The comment that is open; null while there is none. */
  current: string | null;
  marked: ReadonlySet<string>;
  /** The cursor of the next page; null after the last one. */
  next: string | null;
  /** How many wait in this part of the queue. */
  count: number;
  /** The moderator's own id: what another one has is opened last. */
  reader: string | null;
}

export const EMPTY: ReviewState = {
  entries: [],
  current: null,
  marked: new Set(),
  next: null,
  count: 0,
  reader: null,
};

export interface TakenEntry {
  entry: QueueEntry;
  /** Where it stood. */
  index: number;
}

const idOf = (entry: QueueEntry) => entry.comment.id;

/** Whether no other moderator had it when it was read. */
const isFree = ({ reader }: ReviewState, { leased_by: holder }: QueueEntry): boolean =>
  !holder || holder.id === reader;

/** A page more; an entry that is there already, or that was `decided` here, is left out. */
export function addPage(
  state: ReviewState,
  page: QueuePage,
  decided: ReadonlySet<string> = new Set(),
): ReviewState {
  const known = new Set([...state.entries.map(idOf), ...decided]);
  const entries = [...state.entries, ...page.data.filter((entry) => !known.has(idOf(entry)))];
  const first = entries.find((entry) => isFree(state, entry)) ?? entries[0];
  const current = state.current ?? first?.comment.id ?? null;
  return { ...state, entries, current, next: page.page.next, count: page.count };
}

/** The open entry. */
export function currentOf(state: ReviewState): QueueEntry | null {
  return state.entries.find((entry) => idOf(entry) === state.current) ?? null;
}

export function open(state: ReviewState, id: string): ReviewState {
  return state.entries.some((entry) => idOf(entry) === id) ? { ...state, current: id } : state;
}

/** Opens the entry so many places on; the first or the last one where there are no more. */
export function step(state: ReviewState, places: number): ReviewState {
  const last = state.entries.length - 1;
  if (last < 0) return state;
  const from = state.entries.findIndex((entry) => idOf(entry) === state.current);
  const to = Math.min(Math.max(from + places, 0), last);
  return { ...state, current: state.entries[to]?.comment.id ?? null };
}

export function toggleMark(state: ReviewState, id: string): ReviewState {
  const marked = new Set(state.marked);
  if (!marked.delete(id)) marked.add(id);
  return { ...state, marked };
}

/** What a key that decides nothing does: open another entry, mark one, both; null for any other key. */
export function moveByKey(state: ReviewState, key: string, isShifted: boolean): ReviewState | null {
  const markCurrent = () => (state.current ? toggleMark(state, state.current) : state);
  switch (key) {
    case 'j':
    case 'arrowdown':
      return step(isShifted ? markCurrent() : state, 1);
    case 'k':
    case 'arrowup':
      return step(state, -1);
    case 'x':
      return markCurrent();
    default:
      return null;
  }
}

/** What a decision is about: the marked entries, else the open one. */
export function chosen(state: ReviewState): string[] {
  if (state.marked.size > 0) return state.entries.map(idOf).filter((id) => state.marked.has(id));
  return state.current ? [state.current] : [];
}

/** Takes entries out, and opens the next one that stays and that no other moderator has. */
export function take(
  state: ReviewState,
  ids: readonly string[],
): { state: ReviewState; taken: TakenEntry[] } {
  const gone = new Set(ids);
  const taken = state.entries
    .map((entry, index) => ({ entry, index }))
    .filter(({ entry }) => gone.has(idOf(entry)));
  const entries = state.entries.filter((entry) => !gone.has(idOf(entry)));
  const from = state.entries.findIndex((entry) => idOf(entry) === state.current);
  const isAfter = (entry: QueueEntry) => state.entries.indexOf(entry) >= from;
  const following =
    entries.find((entry) => isAfter(entry) && isFree(state, entry)) ??
    entries.findLast((entry) => isFree(state, entry)) ??
    entries.find(isAfter) ??
    entries.at(-1);
  const marked = new Set([...state.marked].filter((id) => !gone.has(id)));
  const count = Math.max(0, state.count - taken.length);
  return {
    state: { ...state, entries, current: following?.comment.id ?? null, marked, count },
    taken,
  };
}

/** Puts entries back where they stood, and opens the first of them. */
export function putBack(state: ReviewState, taken: readonly TakenEntry[]): ReviewState {
  const entries = [...state.entries];
  const known = new Set(entries.map(idOf));
  const missing = taken.filter(({ entry }) => !known.has(idOf(entry)));
  for (const { entry, index } of missing) entries.splice(Math.min(index, entries.length), 0, entry);
  const current = taken[0]?.entry.comment.id ?? state.current;
  return { ...state, entries, current, count: state.count + missing.length };
}
