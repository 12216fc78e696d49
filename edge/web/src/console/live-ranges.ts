/** The numbers of what people do: which are shown, over which time, and where each leads. Pure. */

import { listHref } from './route.ts';
import type { ActivityPoint, ActivityStep } from './wire.ts';

export const ACTIVITY_KINDS = ['posts', 'held', 'rejected', 'reports', 'reactions'] as const;

export type ActivityKind = (typeof ACTIVITY_KINDS)[number];

/** The times that can be chosen; the server answers with just this many points of a step. */
export const LIVE_RANGES = ['hour', 'day', 'month'] as const;

export type LiveRange = (typeof LIVE_RANGES)[number];

export const STEP_OF: Record<LiveRange, ActivityStep> = {
  hour: 'minute',
  day: 'hour',
  month: 'day',
};

/** How often the numbers are read while the page is seen. */
export const POLL_MS: Record<LiveRange, number> = { hour: 5_000, day: 20_000, month: 60_000 };

export const parseRange = (text: string | undefined): LiveRange =>
  LIVE_RANGES.find((range) => range === text) ?? 'hour';

/** All of them together. */
export function total(points: readonly ActivityPoint[], kind: ActivityKind): number {
  return points.reduce((sum, point) => sum + point[kind], 0);
}

/** The list of what is counted; null where there is none. Lists of comments know whole days. */
export function listOf(
  kind: ActivityKind,
  points: readonly ActivityPoint[],
  hasSearch: boolean | null,
): string | null {
  const first = points[0];
  switch (kind) {
    case 'posts':
      return hasSearch && first ? listHref('comments', { from: dayOf(first.at) }) : null;
    case 'held':
      return listHref('held');
    case 'rejected':
      return listHref('audit', { action: 'reject' });
    case 'reports':
      return listHref('reported');
    case 'reactions':
      return null;
  }
}

/** The day of a moment in the moderator's time zone, as the form of the search has it. */
function dayOf(at: number): string {
  const date = new Date(at);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
