/**
 * A client of the HTTP interface of Gailou: `openapi-fetch` with the types of the OpenAPI document and a token, and the
 * three things that most programs do with it: sign a member's token, read a list to its end, post.
 */

export { createGailouClient, type GailouClient, type GailouClientOptions } from './client.js';
export { GailouError } from './error.js';
export { newIdempotencyKey } from './idempotency-key.js';
export { type Member, signMemberToken, type TokenOptions } from './member-token.js';
export { type PostOptions, postComment } from './post.js';
export { type ReadOptions, type ReplySort, readComments, readReplies } from './read.js';
export type { components, operations, paths } from './schema.js';
export type {
  Comment,
  CommentPage,
  CompactComment,
  CompactCommentPage,
  NewComment,
  Problem,
  Role,
  Sort,
  Subject,
} from './shapes.js';
