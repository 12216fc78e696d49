/** What is looked for in all comments: fields of a form, and the query of the call. Pure. */

import type { CommentState } from '../api/wire.ts';

export const COMMENT_STATES: readonly CommentState[] = [
  'published',
  'review',
  'rejected',
  'hidden',
  'deleted',
];

/** The fields of the form, in its order. Days are `YYYY-MM-DD`, of the moderator's time zone, both included. */
export const SEARCH_FIELDS = ['q', 'state', 'subject', 'member', 'from', 'to'] as const;

export type SearchField = (typeof SEARCH_FIELDS)[number];

export type SearchFilter = Readonly<Partial<Record<SearchField, string>>>;

/** The known fields among the parts of an address. */
export function searchFilter(parts: Readonly<Record<string, string>>): SearchFilter {
  const given = SEARCH_FIELDS.flatMap((field) => (parts[field] ? [[field, parts[field]]] : []));
  return Object.fromEntries(given);
}

/** The parameters of the call: from the beginning of the first day to the end of the last. */
export function searchParameters(filter: SearchFilter): Record<string, string | null> {
  const { from, to, ...others } = filter;
  return { ...others, from: dayStart(from, 0), to: dayStart(to, 1) };
}

/** When a day begins, or one so many days later; null for what is no day. */
function dayStart(day: string | undefined, daysLater: number): string | null {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '') ?? [];
  if (!year) return null;
  return String(new Date(Number(year), Number(month) - 1, Number(date) + daysLater).getTime());
}
