/** The shapes that are used most, by their own names. */

import type { components } from './schema.js';

type Schemas = components['schemas'];
export type Comment = Schemas['Comment'];
export type CommentPage = Schemas['CommentPage'];
/** A comment of a list that was asked for with `view=compact`. */
export type CompactComment = Schemas['CompactComment'];
export type CompactCommentPage = Schemas['CompactCommentPage'];
export type NewComment = Schemas['NewComment'];
/** What a member may do beyond writing comments. */
export type Role = Schemas['Role'];
export type Sort = Schemas['Sort'];
export type Subject = Schemas['Subject'];
/** What an answer without success has, as RFC 9457 says. */
export type Problem = Schemas['Problem'];
