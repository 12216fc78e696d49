/** Sentences about what went wrong. */

import './later.ts';
import type { ApiProblem } from '../api/problem.ts';
import { categoriesOf } from '../api/problem-details.ts';
import type { Strings } from './en.ts';

const SECOND_MS = 1_000;

/** What is used of a `Locale`. */
interface ProblemLocale {
  readonly text: Strings;
}

/** A sentence for the reader about what went wrong. */
export function describeProblem({ text }: ProblemLocale, problem: ApiProblem): string {
  const sentence = problemSentence(text, problem);
  if (!problem.retryAfterMs) return sentence;
  return `${sentence} ${text.retryIn(Math.ceil(problem.retryAfterMs / SECOND_MS))}`;
}

function problemSentence(text: Strings, problem: ApiProblem): string {
  if (problem.code === 'content_rejected') return text.contentRejected(categoriesOf(problem));
  if (problem.code === 'site_not_allowed') return text.siteNotAllowed(problem.detail);
  const sentences: Readonly<Record<string, string | undefined>> = text.errors;
  return sentences[problem.code] ?? (problem.detail || text.errors.internal);
}
