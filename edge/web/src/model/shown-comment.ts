/** A comment as the page shows it, and questions about it. Pure: no DOM. */

import type { Comment, CommentState, ListedComment, OverlayEntry } from '../api/wire.ts';
import type { Locale } from '../text/locale.ts';

/** Also a comment that is on its way to the server. A list does not have the text as written. */
export type ShownComment = Omit<ListedComment, 'state'> &
  Partial<Pick<Comment, 'content'>> & { state: CommentState | 'sending' };

/** What a reply needs of the comment that it answers. */
export type AnsweredComment = Pick<ShownComment, 'id' | 'author' | 'path'> &
  Partial<Pick<ShownComment, 'level' | 'root_id'>>;

/** What says which chain a comment is the end of. */
export type ChainLink = Pick<ShownComment, 'id' | 'parent_id' | 'path' | 'root_id'>;

/** A comment as those above it quote it. */
export type QuotedComment = Pick<
  ShownComment,
  'id' | 'author' | 'content' | 'html' | 'media' | 'likes' | 'created_at' | 'state'
> &
  Partial<Pick<ShownComment, 'mentions' | Exclude<keyof ChainLink, 'id'>>>;

/** The part of the overlay of a comment that the reader has nothing to do with. */
export const NO_OVERLAY_ENTRY: Readonly<OverlayEntry> = {
  reaction: null,
  can_edit: false,
  can_delete: false,
};

export function hasFlag(comment: ShownComment, flag: Comment['flags'][number]): boolean {
  return comment.flags.includes(flag);
}

/** A deleted comment keeps its place, but has no author. */
export function isTombstone(comment: Pick<ShownComment, 'author'>): boolean {
  return !comment.author;
}

export function authorNameOf(comment: Pick<ShownComment, 'author'>, locale: Locale): string {
  if (!comment.author) return locale.text.deletedAuthor;
  return comment.author.name || locale.text.anonymous;
}
