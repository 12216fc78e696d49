/**
 * The English texts of a thread that is read; what is loaded later brings `en-later.ts`. The type `Strings` is made from
 * both, so every other language has the same keys.
 */

import type { enLater } from './en-later.ts';
import { numbersIn } from './numbers.ts';

const { plural } = numbersIn<'one' | 'other'>('en');

const first = {
  title: (n: number) => plural(n, { one: '# comment', other: '# comments' }),
  titleNone: 'Comments',
  sortLabel: 'Sort comments',
  search: 'Search',
  moreSorts: 'More sorts',
  hot: 'Hot',
  new: 'New',
  old: 'Oldest',
  top: 'Top',
  best: 'Best rated',
  replies: 'Most replies',
  controversial: 'Controversial',
  loading: 'Loading comments…',
  empty: 'Be the first to comment.',
  loadFailed: 'The comments could not be loaded.',
  tryAgain: 'Try again',
  stale: 'Showing a saved copy. The comment server did not answer.',
  closed: 'Comments are closed here.',
  hiddenSubject: 'Comments are hidden here.',
  write: 'Write a comment',
  writeReply: (name: string) => `Reply to ${name}`,
  placeholder: 'Join the discussion…',
  reply: 'Reply',
  deleted: 'This comment was deleted',
  deletedAuthor: 'Deleted',
  anonymous: 'Guest',
  like: 'Like',
  dislike: 'Dislike',
  /** The name of a picture that has no description. */
  picture: 'Picture',
  replyingTo: 'replying to',
  floor: (n: number) => `#${n}`,
  /** A place in a conversation, from the ground floor up. */
  storey: (n: number) => `floor ${n}`,
  level: (n: number) => `Lv ${n}`,
  levelLabel: (n: number) => `Level ${n}`,
  guest: 'Guest',
  guestLabel: 'Has no account here',
  roles: { moderator: 'Moderator', admin: 'Admin' },
  pinned: 'Pinned',
  featured: 'Featured',
  edited: 'edited',
  showReplies: (n: number) => plural(n, { one: 'Show all # reply', other: 'Show all # replies' }),
  /** To lay a floor on a building. */
  build: 'Reply',
  /** Opens the conversation below an answer. */
  showConversation: 'conversation',
  /** The menu of a comment. */
  more: 'More',
  /** Beside the name of the member that the subject belongs to. */
  owner: 'OP',
  now: 'just now',
  /** By the `code` of a problem; `network` is an answer that never came. */
  errors: {
    network: 'The comment server did not answer.',
  },
};

export type Strings = typeof first & typeof enLater;

/** Whole as soon as anything is loaded that uses the rest: it imports `later.ts`. */
export const en = first as Strings;
