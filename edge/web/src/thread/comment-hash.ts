/** The part of an address that names a comment: `#comment-123`. */

const COMMENT_HASH = /^#comment-(\d{1,20})$/;

export const commentIdIn = (hash: string): string | undefined => COMMENT_HASH.exec(hash)?.[1];

export const linkedCommentId = (): string | undefined => commentIdIn(location.hash);
