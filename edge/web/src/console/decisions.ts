/** The decisions about a comment: their keys, which of them its state allows, and what they make of it. Pure. */

import type { Comment, CommentState } from '../api/wire.ts';
import type { Decision } from './wire.ts';

export interface DecisionKey {
  action: Decision;
  key: string;
  /** The class of its button. */
  look: string;
}

/** The decisions of the queue. */
export const QUEUE_DECISIONS: readonly DecisionKey[] = [
  { action: 'approve', key: 'a', look: 'good' },
  { action: 'reject', key: 'r', look: 'bad' },
  { action: 'hide', key: 'h', look: '' },
  { action: 'delete', key: 'd', look: '' },
  { action: 'feature', key: 'f', look: '' },
];

/** The key that publishes is the same, whatever took the comment out of the lists. */
const RESTORE: DecisionKey = { action: 'restore', key: 'a', look: 'good' };
const UNFEATURE: DecisionKey = { action: 'unfeature', key: 'f', look: '' };

const ALLOWED: Record<CommentState, readonly Decision[]> = {
  published: ['hide', 'delete', 'feature'],
  review: ['approve', 'reject', 'hide', 'delete'],
  rejected: ['approve', 'hide', 'delete'],
  hidden: ['delete'],
  deleted: [],
};

/** What can be decided about a comment of this state. */
export function decisionsFor({ state, flags }: Pick<Comment, 'state' | 'flags'>): DecisionKey[] {
  const allowed = QUEUE_DECISIONS.filter(({ action }) => ALLOWED[state].includes(action));
  if (state === 'hidden' || state === 'deleted') return [RESTORE, ...allowed];
  const isFeatured = flags.includes('featured');
  return allowed.map((one) => (one.action === 'feature' && isFeatured ? UNFEATURE : one));
}

export const isPinned = ({ flags }: Pick<Comment, 'flags'>): boolean => flags.includes('pinned');

/** Whether it can be pinned to its subject, or its pin removed: readers must see it. */
export const canPin = ({ state }: Pick<Comment, 'state'>): boolean => state === 'published';

/** What a decision makes of a comment, until the server has answered. */
export function decided(comment: Comment, action: Decision): Comment {
  const others = comment.flags.filter((flag) => flag !== 'featured');
  switch (action) {
    case 'approve':
    case 'restore':
      return { ...comment, state: 'published' };
    case 'reject':
      return { ...comment, state: 'rejected' };
    case 'hide':
      return { ...comment, state: 'hidden' };
    case 'delete':
      return { ...comment, state: 'deleted' };
    case 'feature':
      return { ...comment, flags: [...others, 'featured'] };
    case 'unfeature':
      return { ...comment, flags: others };
  }
}
