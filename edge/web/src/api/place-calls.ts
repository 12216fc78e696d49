/** Reads of what comes after the first page of a list: more of it, single comments, and what these stand on. */

import type { ApiClient, ListQuery, ReadOptions } from './client.ts';
import { subjectPath } from './paths.ts';
import { encodeQuery } from './query.ts';
import type { ApiAnswer } from './transport.ts';
import type { Ancestors, Comment, CommentContext, Page } from './wire.ts';

const compactQuery = (query: ListQuery) => encodeQuery({ ...query, view: 'compact' });

export function fetchComment(api: ApiClient, id: string): Promise<ApiAnswer<Comment>> {
  return api.read(`/v1/comments/${id}`);
}

/** The root first, the comment itself last. */
export function fetchAncestors(api: ApiClient, id: string): Promise<ApiAnswer<Ancestors>> {
  return api.read(`/v1/comments/${id}/ancestors`);
}

/** What a permalink needs. */
export function fetchContext(
  api: ApiClient,
  id: string,
  signal: AbortSignal,
): Promise<ApiAnswer<CommentContext>> {
  return api.read(`/v1/comments/${id}/context?view=compact`, { signal });
}

/** A page of the comments under the subject itself. */
export function listRoots(
  api: ApiClient,
  subject: string,
  query: ListQuery,
  options: ReadOptions,
): Promise<ApiAnswer<Page>> {
  return api.read(`${subjectPath(subject)}/comments?${compactQuery(query)}`, options);
}

/** All descendants of a comment, flat. */
export function listReplies(
  api: ApiClient,
  id: string,
  query: ListQuery,
  options: ReadOptions,
): Promise<ApiAnswer<Page>> {
  return api.read(`/v1/comments/${id}/replies?${compactQuery(query)}`, options);
}

/** The event stream of everything since this version of the subject. */
export function eventsUrl(api: ApiClient, subject: string, after: number): string {
  return `${api.base}${subjectPath(subject)}/events?after=${after}`;
}
