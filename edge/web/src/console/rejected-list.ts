/** What the list of refused texts knows of an answer. Pure. */

import { ApiProblem } from '../api/problem.ts';
import type { ConsoleText } from './text.ts';
import type { RefusedText } from './wire.ts';

/** Longest text that is looked for, in characters. */
export const MAX_QUERY_CHARS = 100;

/** The list without a text that was accepted or dropped. */
export const withoutText = (texts: RefusedText[], id: string): RefusedText[] =>
  texts.filter((text) => text.id !== id);

/** Whether another moderator was first, or the text has expired. */
export const isGone = (problem: unknown): boolean =>
  problem instanceof ApiProblem && problem.code === 'not_found';

/** Why a text cannot be accepted now, in a sentence; null for what is no matter of the text. */
export function hindrance(problem: unknown, text: ConsoleText): string | null {
  if (!(problem instanceof ApiProblem)) return null;
  const sentences: Record<string, string> = {
    not_found: text.rejectedGone,
    subject_closed: text.rejectedClosed,
    unknown_subject_type: text.rejectedClosed,
    parent_not_found: text.rejectedParentGone,
    comment_not_found: text.rejectedCommentGone,
    version_conflict: text.rejectedChanged,
  };
  return sentences[problem.code] ?? null;
}
