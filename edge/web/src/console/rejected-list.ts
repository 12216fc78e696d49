/** What the list of refused texts knows of an answer. Pure. */

import { ApiProblem } from '../api/problem.ts';
import type { ConsoleText } from './text.ts';
import type { RefusedText } from './wire.ts';

/** Longest text that is looked for, in characters. */
export const MAX_QUERY_CHARS = 100;

/** The list without a text that was accepted or dropped. */
export const withoutText = (texts: RefusedText[], id: string): RefusedText[] =>
  texts.filter((text) => text.id !== id);

/** The list with a text where it stood. */
export function withTextAt(texts: RefusedText[], text: RefusedText, place: number): RefusedText[] {
  return withoutText(texts, text.id).toSpliced(Math.max(place, 0), 0, text);
}

/** Whether another moderator was first, or the text has expired. */
export const isGone = (problem: unknown): boolean =>
  problem instanceof ApiProblem && problem.code === 'not_found';

/** The problem, with a sentence why the text cannot be accepted now; as it is for what is no matter of the text. */
export function explained(problem: unknown, text: ConsoleText): unknown {
  if (!(problem instanceof ApiProblem)) return problem;
  const sentences: Record<string, string> = {
    not_found: text.rejectedGone,
    subject_closed: text.rejectedClosed,
    unknown_subject_type: text.rejectedClosed,
    parent_not_found: text.rejectedParentGone,
    comment_not_found: text.rejectedCommentGone,
    version_conflict: text.rejectedChanged,
  };
  const { status, code } = problem;
  const detail = sentences[code];
  return detail ? new ApiProblem({ status, code, detail }) : problem;
}
