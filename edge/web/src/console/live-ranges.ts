/** The numbers of what people do: which are shown, over which time, and where each leads. Pure. */

import { listHref } from './route.ts';
import { minuteAt } from './search-filter.ts';
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

const STEP_MS: Record<ActivityStep, number> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** How often the numbers are read while the page is seen. */
export const POLL_MS: Record<LiveRange, number> = { hour: 5_000, day: 20_000, month: 60_000 };

export const parseRange = (text: string | undefined): LiveRange =>
  LIVE_RANGES.find((range) => range === text) ?? 'hour';

/** All of them together. */
export function total(points: readonly ActivityPoint[], kind: ActivityKind): number {
  return points.reduce((sum, point) => sum + point[kind], 0);
}

/** The list of what these points count; null where there is none. Only comments are listed by time. */
export function listOf(
  kind: ActivityKind,
  points: readonly ActivityPoint[],
  range: LiveRange,
  hasSearch: boolean | null,
): string | null {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return null;
  switch (kind) {
    case 'posts': {
      const end = last.at + STEP_MS[STEP_OF[range]];
      const time = { from: minuteAt(first.at), to: minuteAt(end) };
      return hasSearch ? listHref('comments', time) : null;
    }
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
