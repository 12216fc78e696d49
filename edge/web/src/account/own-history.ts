/** The pages of what a member wrote, with those comments in their places that no list has. Pure. */

import type { Comment } from '../api/wire.ts';

type Dated = Pick<Comment, 'id' | 'created_at'>;

export class OwnHistory<Item extends Dated = Comment> {
  /** Those that are still to be shown, newest first. */
  #pending: Item[];
  readonly #pendingIds: ReadonlySet<string>;

  constructor(pending: readonly Item[]) {
    this.#pending = newestFirst(pending);
    this.#pendingIds = new Set(pending.map(({ id }) => id));
  }

  /** What is shown with the next page of the public history; with the last one, everything that is left. */
  addPage(listed: readonly Item[], isLast: boolean): Item[] {
    const oldest = isLast ? Number.NEGATIVE_INFINITY : (listed.at(-1)?.created_at ?? Infinity);
    const due = this.#pending.filter(({ created_at }) => created_at >= oldest);
    this.#pending = this.#pending.filter(({ created_at }) => created_at < oldest);
    // An edit that is held is of a comment that is listed: it is shown once, as its author has left it.
    return newestFirst([...due, ...listed.filter(({ id }) => !this.#pendingIds.has(id))]);
  }
}

const newestFirst = <Item extends Dated>(items: readonly Item[]): Item[] =>
  items.toSorted((a, b) => b.created_at - a.created_at);
