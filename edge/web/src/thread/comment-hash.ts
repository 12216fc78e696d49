/** The part of an address that names a comment: `#comment-123`. */

const COMMENT_HASH = /^#comment-(\d{1,20})$/;

export const linkedCommentId = (): string | undefined => COMMENT_HASH.exec(location.hash)?.[1];
