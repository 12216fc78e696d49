/** The first page of a list, which is asked for twice in the same words: once before the element is there. */

import { subjectPath } from './paths.ts';
import type { Sort } from './wire.ts';

export const ROOTS_PER_PAGE = 20;

/** What is asked for where no sort was chosen. */
export const USUAL_SORT = 'hot';

/** From the most usual one. */
export const ALL_SORTS: readonly [Sort, ...Sort[]] = [
  USUAL_SORT,
  'new',
  'old',
  'top',
  'best',
  'replies',
  'controversial',
];

/** Any other word is the first sort. */
export function sortOf(word: string): Sort {
  return ALL_SORTS.find((sort) => sort === word) ?? ALL_SORTS[0];
}

export function firstPageUrl(subject: string, sort: string): string {
  return `${subjectPath(subject)}/comments?sort=${sort}&limit=${ROOTS_PER_PAGE}&view=compact`;
}
