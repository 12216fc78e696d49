/**
 * What the reader did a moment ago, in this tab. A list may be a cached page that is a few seconds
 * old, so these acts are applied to every list for a short time. A reload does not lose them.
 */

import type { Comment } from '../api/wire.ts';
import { tabStorage } from '../util/json-storage.ts';
import { keepIn } from '../util/keep.ts';
import { tombstoneOf } from './comment-changes.ts';
import type { QuotedComment } from './shown-comment.ts';

/** Own posts, edits and deletions outlive every cached page. */
const ACT_TTL_MS = 120_000;
const REACTION_TTL_MS = 10_000;

interface ActValues {
  post: Comment;
  edit: Comment;
  counts: { likes: number; dislikes: number };
  gone: true;
}

interface Entry {
  value: ActValues[keyof ActValues];
  until: number;
}

export class RecentActs {
  readonly #key: string;
  readonly #now: () => number;

  constructor(key: string, now = Date.now) {
    this.#key = key;
    this.#now = now;
  }

  rememberPost(comment: Comment): void {
    this.#put('post', comment.id, comment, ACT_TTL_MS);
  }

  rememberEdit(comment: Comment): void {
    this.#put('edit', comment.id, comment, ACT_TTL_MS);
  }

  rememberCounts(id: string, counts: ActValues['counts']): void {
    this.#put('counts', id, counts, REACTION_TTL_MS);
  }

  /** Also for a comment that another person removed. */
  rememberRemoval(id: string): void {
    this.#put('gone', id, true, ACT_TTL_MS);
  }

  forgetPost(id: string): void {
    this.#remove('post', id);
  }

  forgetRemoval(id: string): void {
    this.#remove('gone', id);
  }

  posts(): Comment[] {
    return Object.entries(this.#entries())
      .filter(([name]) => name.startsWith('post:'))
      .map(([, entry]) => entry.value as Comment);
  }

  /** A comment from a list with the reader's own later changes. */
  applyTo<Shown extends QuotedComment & { edited_at?: number | null }>(comment: Shown): Shown {
    let result = comment;
    const edit = this.#get('edit', comment.id);
    if (edit && (edit.edited_at || 0) > (comment.edited_at || 0)) {
      const { content, html, flags, edited_at } = edit;
      result = { ...result, content, html, flags, edited_at };
    }
    const counts = this.#get('counts', comment.id);
    if (counts) result = { ...result, ...counts };
    return this.#get('gone', comment.id) ? tombstoneOf(result) : result;
  }

  #entries(): Record<string, Entry> {
    const all = tabStorage.get<Record<string, Entry>>(this.#key) ?? {};
    return Object.fromEntries(Object.entries(all).filter(([, entry]) => entry.until > this.#now()));
  }

  #get<Kind extends keyof ActValues>(kind: Kind, id: string): ActValues[Kind] | null {
    const entry = this.#entries()[`${kind}:${id}`];
    return entry ? (entry.value as ActValues[Kind]) : null;
  }

  #put<Kind extends keyof ActValues>(
    kind: Kind,
    id: string,
    value: ActValues[Kind],
    ttlMs: number,
  ): void {
    const entry: Entry = { value, until: this.#now() + ttlMs };
    keepIn(tabStorage, this.#key, { ...this.#entries(), [`${kind}:${id}`]: entry });
  }

  #remove(kind: keyof ActValues, id: string): void {
    const entries = this.#entries();
    delete entries[`${kind}:${id}`];
    keepIn(tabStorage, this.#key, entries);
  }
}
