/** Posting a comment once, however often it is sent. */

import type { GailouClient } from './client.js';
import { newIdempotencyKey } from './idempotency-key.js';
import { sendWithRetries } from './send.js';
import type { Comment, NewComment } from './shapes.js';
import { subjectPath } from './subject-path.js';

export interface PostOptions {
  /** Calls with the same key and comment are one comment for 24 hours; without it each call is a comment of its own. */
  idempotencyKey?: string;
  /** Gives up when it is aborted; whether the comment was posted is not known then. */
  signal?: AbortSignal;
}

/**
 * Posts a comment on a subject such as `article/hello`, and gives it; its `state` is `review` when it is held. It is sent
 * again, at most four times and with the same key, where the connection breaks or the server has no time (429, 502, 503,
 * 504), after as long as the server asks, and longer each time. Rejects with a `GailouError` when the server refuses, and
 * with the error of `fetch` when no answer comes.
 */
export function postComment(
  client: GailouClient,
  subject: string,
  comment: NewComment,
  { idempotencyKey = newIdempotencyKey(), signal }: PostOptions = {},
): Promise<Comment> {
  const params = {
    path: subjectPath(subject),
    header: { 'Idempotency-Key': idempotencyKey },
  };
  return sendWithRetries(
    (attemptSignal) =>
      client.POST('/v1/subjects/{type}/{key}/comments', {
        params,
        body: comment,
        signal: attemptSignal,
      }),
    signal,
  );
}
