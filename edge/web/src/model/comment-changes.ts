/** What a deletion and a reaction make of a comment. Pure: no DOM. */

import type { Reaction, ReactionState } from '../api/wire.ts';
import type { QuotedComment } from './shown-comment.ts';

export function tombstoneOf<Shown extends QuotedComment>(comment: Shown): Shown {
  const gone = { state: 'deleted', content: '', html: '', author: null, media: [] } as const;
  return { ...comment, ...gone, ...('mentions' in comment && { mentions: [] }) };
}

/** The counts once `wanted` is the reader's reaction. */
export function reactionStateWith(
  { likes, dislikes, reaction }: ReactionState,
  wanted: Reaction | null,
): ReactionState {
  const change = (kind: Reaction) => Number(wanted === kind) - Number(reaction === kind);
  return {
    likes: Math.max(0, likes + change('like')),
    dislikes: Math.max(0, dislikes + change('dislike')),
    reaction: wanted,
  };
}
