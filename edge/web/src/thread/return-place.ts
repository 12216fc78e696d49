/**
 * Where the reader was in a long list: kept in the tab when the page is left, and found again when the browser's Back leads
 * to it. A page that the browser has kept as a whole needs none of it.
 */

import type { Sort } from '../api/wire.ts';
import { tabStorage } from '../util/json-storage.ts';
import { keepIn, removeFrom } from '../util/keep.ts';
import { sleep } from '../util/time.ts';
import { linkedCommentId } from './comment-hash.ts';
import type { ThreadPartHost } from './part-host.ts';

/** As long the list is followed to the place, and as many frames what moves above it. */
const SEARCH_MS = 10_000;
const SETTLING_FRAMES = 20;
const PAUSE_MS = 50;

/** By these the reader goes on from another place. */
const READER_EVENTS = ['wheel', 'touchstart', 'pointerdown', 'keydown'];

interface Place {
  readonly sort: Sort;
  /** The first root in the window. */
  readonly id: string;
  /** Its distance from the upper edge, in CSS pixels. */
  readonly top: number;
}

interface PlaceHost extends Omit<ThreadPartHost, 'recent'> {
  readonly sort: Sort;
}

interface FollowedList {
  readonly isEnded: boolean;
  loadNext(): Promise<void>;
}

const keyOf = ({ api, subject }: PlaceHost) => `gailou:place:${api.base}|${subject}`;

/** Keeps the place when the page is left, until `signal`. */
export function keepPlace(thread: PlaceHost, signal: AbortSignal): void {
  const keep = () => {
    const place = placeOf(thread);
    if (place) keepIn(tabStorage, keyOf(thread), place);
    else removeFrom(tabStorage, keyOf(thread));
  };
  addEventListener('pagehide', keep, { signal });
}

/** Null while the reader is above the list. */
function placeOf({ comments, sort }: PlaceHost): Place | null {
  const { list, views } = comments.main;
  if (list.getBoundingClientRect().top >= 0) return null;
  const first = [...list.children].find((item) => item.getBoundingClientRect().bottom > 0);
  const view = [...views.values()].find(({ node }) => node === first);
  return view ? { sort, id: view.comment.id, top: view.node.getBoundingClientRect().top } : null;
}

/** Loads the list as far as the kept place and scrolls there, unless the reader moves meanwhile. */
export async function returnToPlace(
  thread: PlaceHost,
  list: FollowedList,
  signal: AbortSignal,
): Promise<void> {
  const place = tabStorage.get<Place>(keyOf(thread));
  removeFrom(tabStorage, keyOf(thread));
  if (!place || place.sort !== thread.sort || !isByBack() || linkedCommentId()) return;
  const moved = new AbortController();
  const ended = AbortSignal.any([signal, moved.signal, AbortSignal.timeout(SEARCH_MS)]);
  for (const event of READER_EVENTS) {
    addEventListener(event, () => moved.abort(), { signal: ended, passive: true });
  }
  const { list: roots, views } = thread.comments.main;
  while (!views.has(place.id) && !list.isEnded && !ended.aborted) {
    const before = roots.childElementCount;
    await list.loadNext();
    // Another load is under way, or has failed.
    if (roots.childElementCount === before) await sleep(PAUSE_MS);
  }
  const node = views.get(place.id)?.node;
  for (let frames = 0; node && frames < SETTLING_FRAMES && !ended.aborted; frames += 1) {
    scrollBy({ top: node.getBoundingClientRect().top - place.top, behavior: 'instant' });
    await new Promise(requestAnimationFrame);
  }
  moved.abort();
}

function isByBack(): boolean {
  const [navigation] = performance.getEntriesByType('navigation');
  return (navigation as PerformanceNavigationTiming | undefined)?.type === 'back_forward';
}
