/** Reading a list to its end, whatever its cursors go through. */

import type { GailouClient } from './client.js';
import { type Answer, GailouError } from './error.js';
import type { operations } from './schema.js';
import { sendWithRetries } from './send.js';
import type { Comment, CommentPage, Sort } from './shapes.js';
import { subjectPath } from './subject-path.js';

const MAX_PAGE_SIZE = 100;
/** A list whose cursors expire more often is not read to its end. */
const MAX_RESTARTS = 3;

export type ReplySort = NonNullable<
  NonNullable<operations['list_replies']['parameters']['query']>['sort']
>;

export interface ReadOptions<Order> {
  sort?: Order;
  /** How many comments are asked for at once; 100 at most, and by default. */
  pageSize?: number;
  signal?: AbortSignal;
}

interface PageQuery {
  limit: number;
  cursor?: string;
}

interface PageInit {
  cache?: 'reload';
  signal?: AbortSignal;
}

type SendPage = (query: PageQuery, init: PageInit) => Promise<Answer<CommentPage>>;

/**
 * The roots of a subject such as `article/hello`, each once; the pages are fetched as they are needed, with the retries of
 * `postComment`. Where a cursor expires, the list starts again, past the caches and without what was given.
 */
export function readComments(
  client: GailouClient,
  subject: string,
  { sort = 'hot', ...options }: ReadOptions<Sort> = {},
): AsyncGenerator<Comment, void, undefined> {
  const path = subjectPath(subject);
  const send: SendPage = (query, init) =>
    client.GET('/v1/subjects/{type}/{key}/comments', {
      params: { path, query: { sort, ...query } },
      ...init,
    });
  return readToEnd(send, options);
}

/** Everything below a comment, as a flat list; as `readComments`. */
export function readReplies(
  client: GailouClient,
  id: string,
  { sort = 'hot', ...options }: ReadOptions<ReplySort> = {},
): AsyncGenerator<Comment, void, undefined> {
  const send: SendPage = (query, init) =>
    client.GET('/v1/comments/{id}/replies', {
      params: { path: { id }, query: { sort, ...query } },
      ...init,
    });
  return readToEnd(send, options);
}

async function* readToEnd(
  sendPage: SendPage,
  { pageSize = MAX_PAGE_SIZE, signal }: Omit<ReadOptions<never>, 'sort'>,
): AsyncGenerator<Comment, void, undefined> {
  const seen = new Set<string>();
  let cursor: string | null = null;
  let restarts = 0;
  for (;;) {
    const query: PageQuery = { limit: pageSize, ...(cursor && { cursor }) };
    // `reload` sends `Cache-Control: no-cache`, and needs no preflight in a browser.
    const init: PageInit = restarts > 0 ? { cache: 'reload' } : {};
    const page: CommentPage | null = await sendWithRetries(
      (attemptSignal) => sendPage(query, { ...init, signal: attemptSignal }),
      signal,
    ).catch((error) => {
      if (isCursorExpired(error) && restarts < MAX_RESTARTS) return null;
      throw error;
    });
    if (!page) {
      cursor = null;
      restarts += 1;
      continue;
    }
    for (const comment of page.data) {
      if (seen.has(comment.id)) continue;
      seen.add(comment.id);
      yield comment;
    }
    cursor = page.page.next;
    if (!cursor) return;
  }
}

const isCursorExpired = (error: unknown): boolean =>
  error instanceof GailouError && error.code === 'cursor_expired';
