/** What follows from a problem. */

import type { ApiProblem } from './problem.ts';

/** Whether the write may have happened. Only the same idempotency key makes a repetition safe. */
export const isOutcomeUnknown = ({ status }: ApiProblem): boolean =>
  status === 0 || [502, 503, 504].includes(status);

/** Whether the same request may succeed later. */
export const isRepeatable = (problem: ApiProblem): boolean =>
  isOutcomeUnknown(problem) || problem.status === 429 || problem.status >= 500;

/** The categories of a rejected text, each once, separated by commas. */
export function categoriesOf({ errors }: ApiProblem): string {
  const all = errors.map((error) => error.category || error.detail);
  return [...new Set(all)].filter(Boolean).join(', ');
}

/** What is wrong with this field of the request; null when nothing is. */
export const fieldDetail = ({ errors }: ApiProblem, name: string): string | null =>
  errors.find((error) => error.field === name)?.detail ?? null;
