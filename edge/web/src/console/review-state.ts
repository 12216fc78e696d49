/** The queue as one moderator sees it: which entry is open, which are marked. Pure: each function returns the next state. */

import type { MemberName } from '../api/wire.ts';
import type { QueueEntry, QueuePage } from './wire.ts';

export interface ReviewState {
  entries: QueueEntry[];
  /** The comment that is open; null while there is none. */
  current: string | null;
  /** Whether the moderator chose it from the list: then it stays open also where another one has it. */
  isChosen: boolean;
  /** The comment that the moderator decides though another one has it. */
  overruled: string | null;
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
  isChosen: false,
  overruled: null,
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

/** The other moderator who has it, as far as that is known. */
export const otherHolder = (
  { reader }: Pick<ReviewState, 'reader'>,
  { leased_by: holder }: QueueEntry,
): MemberName | null => (holder?.id === reader ? null : holder);

const isFree = (state: ReviewState, entry: QueueEntry): boolean => !otherHolder(state, entry);

/** One of whom nothing is known. */
const UNKNOWN_HOLDER: MemberName = { id: '', name: '' };

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
  const isThere = state.entries.some((entry) => idOf(entry) === id);
  return isThere ? { ...state, current: id, isChosen: true } : state;
}

/**
 * Opens the entry so many places on among those that no other moderator has; the first or the last of them where there
 * are no more.
 */
export function step(state: ReviewState, places: number): ReviewState {
  const isReachable = (entry: QueueEntry) => isFree(state, entry) || idOf(entry) === state.current;
  const reachable = state.entries.filter(isReachable);
  const from = reachable.findIndex((entry) => idOf(entry) === state.current);
  const to = Math.min(Math.max(from + places, 0), reachable.length - 1);
  const current = reachable[to]?.comment.id ?? state.current;
  return current === state.current ? state : { ...state, current, isChosen: false };
}

/** The entry to go on with from the open one, among `entries`: one that no other moderator has comes first. */
function following(state: ReviewState, entries: readonly QueueEntry[]): QueueEntry | null {
  const from = state.entries.findIndex((entry) => idOf(entry) === state.current);
  const isAfter = (entry: QueueEntry) => state.entries.indexOf(entry) >= from;
  return (
    entries.find((entry) => isAfter(entry) && isFree(state, entry)) ??
    entries.findLast((entry) => isFree(state, entry)) ??
    entries.find(isAfter) ??
    entries.at(-1) ??
    null
  );
}

/** Opens the next entry that no other moderator has; the open one stays where there is none. */
export function goOn(state: ReviewState): ReviewState {
  const next = following(state, state.entries);
  if (!next || !isFree(state, next)) return state;
  return { ...state, current: idOf(next), isChosen: false };
}

/** The open one is this moderator's now. */
export function isOwn(state: ReviewState, id: string): ReviewState {
  const entries = state.entries.map((entry) =>
    idOf(entry) === id && entry.leased_by ? { ...entry, leased_by: null } : entry,
  );
  return { ...state, entries };
}

/**
 * Notes that other moderators have these entries, and who has which, as far as `page` says, which is the head of the
 * queue now; null where it could not be read. Goes on from the open one if another moderator has it, unless it was chosen.
 */
export function othersHave(
  state: ReviewState,
  ids: readonly string[],
  page: QueuePage | null,
): ReviewState {
  const noted = new Set(ids);
  const read = new Map(page?.data.map((entry) => [idOf(entry), otherHolder(state, entry)]));
  const entries = state.entries.map((entry) => {
    const id = idOf(entry);
    if (noted.has(id)) return { ...entry, leased_by: read.get(id) ?? UNKNOWN_HOLDER };
    return read.has(id) ? { ...entry, leased_by: read.get(id) ?? null } : entry;
  });
  const next = { ...state, entries };
  const open = currentOf(next);
  return open && !isFree(next, open) && !next.isChosen ? goOn(next) : next;
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

/** The open entry is to be decided though another moderator has it. */
export function overrule(state: ReviewState): ReviewState {
  return { ...state, overruled: state.current };
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
  const marked = new Set([...state.marked].filter((id) => !gone.has(id)));
  const count = Math.max(0, state.count - taken.length);
  const current = following(state, entries)?.comment.id ?? null;
  const isChosen = state.isChosen && current === state.current;
  return { state: { ...state, entries, current, isChosen, marked, count }, taken };
}

/** Puts entries back where they stood, and opens the first of them where `isOpened`, or where nothing is open. */
export function putBack(
  state: ReviewState,
  taken: readonly TakenEntry[],
  isOpened = true,
): ReviewState {
  const entries = [...state.entries];
  const known = new Set(entries.map(idOf));
  const missing = taken.filter(({ entry }) => !known.has(idOf(entry)));
  for (const { entry, index } of missing) entries.splice(Math.min(index, entries.length), 0, entry);
  const first = taken[0]?.entry.comment.id ?? null;
  const current = (isOpened ? first : null) ?? state.current ?? first;
  const isChosen = state.isChosen && current === state.current;
  return { ...state, entries, current, isChosen, count: state.count + missing.length };
}
