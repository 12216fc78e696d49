/** What is looked for in all comments: fields of a form, and the query of the call. Pure. */

import type { CommentState } from '../api/wire.ts';

export const COMMENT_STATES: readonly CommentState[] = [
  'published',
  'review',
  'rejected',
  'hidden',
  'deleted',
];

/**
 * The fields of the form, in its order. `from` and `to` are days of the moderator's time zone, `YYYY-MM-DD`, both
 * included; or minutes of UTC, `YYYY-MM-DDTHH:MMZ`, which mean the same to every moderator, and the second is not included.
 * `reported` is `true`, of a member alone.
 */
export const SEARCH_FIELDS = ['q', 'state', 'subject', 'member', 'reported', 'from', 'to'] as const;

export type SearchField = (typeof SEARCH_FIELDS)[number];

export type SearchFilter = Readonly<Partial<Record<SearchField, string>>>;

/** The known fields among the parts of an address. */
export function searchFilter(parts: Readonly<Record<string, string>>): SearchFilter {
  const given = SEARCH_FIELDS.flatMap((field) => (parts[field] ? [[field, parts[field]]] : []));
  const { reported, ...others }: SearchFilter = Object.fromEntries(given);
  return reported === 'true' && others.member ? { ...others, reported } : others;
}

/** The parameters of the call: from the beginning of the first day or minute to the end of the last day, or to a minute. */
export function searchParameters(filter: SearchFilter): Record<string, string | null> {
  const { from, to, ...others } = filter;
  return { ...others, from: beginning(from, 0), to: beginning(to, 1) };
}

/** When a minute begins, or a day, or the one so many days later; null for what is neither. */
function beginning(text: string | undefined, daysLater: number): string | null {
  const at = minuteTime(text) ?? dayTime(text, daysLater);
  return at === null ? null : String(at);
}

function dayTime(day: string | undefined, daysLater: number): number | null {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '') ?? [];
  if (!year) return null;
  return new Date(Number(year), Number(month) - 1, Number(date) + daysLater).getTime();
}

/** When a minute of UTC begins; null for what is none. */
export function minuteTime(text: string | undefined): number | null {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}Z$/.test(text ?? '')) return null;
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? null : at;
}

/** The minute of a moment, as an address has it. */
export const minuteAt = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 16)}Z`;

/** A minute as a field of a form has it: `YYYY-MM-DDTHH:MM` in the time zone of the moderator. */
export function localMinute(atMs: number): string {
  return minuteAt(atMs - new Date(atMs).getTimezoneOffset() * 60_000).slice(0, -1);
}

/** What such a field says, as an address has it; empty where it is empty. */
export function minuteOfField(local: string): string {
  const at = new Date(local).getTime();
  return Number.isNaN(at) ? '' : minuteAt(at);
}
