/**
 * What the event stream brings. A list must not move under the reader's eyes, so new comments wait
 * behind a button; edits and removals show in their place.
 */

import type { ReaderAccount } from '../account/account.ts';
import { fetchComment } from '../api/place-calls.ts';
import type { Comment } from '../api/wire.ts';
import type { Composer } from '../composer/composer.ts';
import { announce } from '../dom/announce.ts';
import { h } from '../dom/html.ts';
import { tombstoneOf } from '../model/comment-changes.ts';
import { memberOf } from '../model/member.ts';
import { isTombstone } from '../model/shown-comment.ts';
import css from '../style/arrivals.css';
import { addStyles } from '../style/style-sheet.ts';
import { jitter, type Timer } from '../util/time.ts';
import type { ThreadPartHost } from './part-host.ts';
import type { ReaderState } from './reader-state.ts';

/** More new comments than this load the list anew. */
const MAX_ARRIVED = 20;
/** After this time the caches have what was missed. Jitter spreads the requests of the readers. */
const CACHE_CATCH_UP_MS = 5_000;

addStyles(css);

export interface ArrivalsHost extends ThreadPartHost {
  readonly account: Pick<ReaderAccount, 'onAnswered'>;
  readonly reader: ReaderState;
  readonly roots: ReloadableList;
  /** The open forms. */
  readonly composers: ReadonlySet<Composer>;
}

interface ReloadableList {
  loadFirst(options: { pastCaches: boolean }): Promise<void>;
}

export class Arrivals {
  readonly #thread: ArrivalsHost;
  readonly #button: HTMLButtonElement;
  /** Whether each of them answers the reader. */
  readonly #arrived = new Map<string, boolean>();
  /** Events were missed, and the reader decides when the list is loaded anew. */
  #isBehind = false;
  #reloadTimer: Timer | undefined;

  constructor(thread: ArrivalsHost) {
    this.#thread = thread;
    this.#button = h('button', {
      type: 'button',
      class: 'button fresh',
      hidden: true,
      on: { click: () => this.#show() },
    });
    thread.frame.foot.after(this.#button);
  }

  stop(): void {
    clearTimeout(this.#reloadTimer);
  }

  /** A comment is new, or its text has changed. */
  onComment(id: string, parentId?: string | null): void {
    const { comments, frame, recent } = this.#thread;
    recent.forgetRemoval(id);
    if (comments.floorOf(id)) {
      this.#refresh(id);
      return;
    }
    this.#arrived.set(id, false);
    this.showCount();
    if (this.#isByReader(parentId)) this.#noteAnswer(id);
    else announce(frame, this.#sentence());
  }

  /** The event does not say who has answered the reader: it may be the reader, in another tab. */
  async #noteAnswer(id: string): Promise<void> {
    const { account, frame, identity } = this.#thread;
    const author = (await this.#fetchComment(id))?.author?.id;
    if (!this.#arrived.has(id)) return;
    const isByAnother = author === undefined || author !== memberOf(identity)?.id;
    this.#arrived.set(id, isByAnother);
    if (isByAnother) account.onAnswered();
    this.showCount();
    announce(frame, this.#sentence());
  }

  /** Whether comments wait behind the button. */
  get isWaiting(): boolean {
    return this.#arrived.size > 0;
  }

  /** Known of the comments on the page alone. */
  #isByReader(id: string | null | undefined): boolean {
    const reader = memberOf(this.#thread.identity)?.id;
    const author = id && this.#thread.comments.floorOf(id)?.author?.id;
    return Boolean(reader) && author === reader;
  }

  #sentence(): string {
    const { text } = this.#thread;
    const sentence = text.newComments(this.#arrived.size);
    const answers = [...this.#arrived.values()].filter(Boolean).length;
    return answers > 0 ? `${sentence} · ${text.repliesToYou(answers)}` : sentence;
  }

  /** Cached lists may show the comment for a moment more, so its removal is remembered. */
  onRemoved(id: string): void {
    const { comments, recent } = this.#thread;
    recent.rememberRemoval(id);
    this.forget(id);
    comments.updateEach(id, tombstoneOf);
  }

  /**
   * Events were missed, and the server does not know which. The list is loaded anew a little
   * later, unless the reader is busy in it. A stream that closes before that does not repeat the
   * reset, so the timer is independent of the stream.
   */
  onReset(): void {
    clearTimeout(this.#reloadTimer);
    if (!this.#isIdle) {
      this.#askToReload();
      return;
    }
    this.#reloadTimer = setTimeout(() => {
      if (this.#isIdle) this.#thread.roots.loadFirst({ pastCaches: true });
      else this.#askToReload();
    }, jitter(CACHE_CATCH_UP_MS));
  }

  /** Whether nothing the reader does or reads would be disturbed by another list. */
  get #isIdle(): boolean {
    const { comments, composers, frame } = this.#thread;
    const root = frame.section.getRootNode() as ShadowRoot;
    return (
      !comments.linked &&
      [...composers].every(({ form }) => form === frame.composer) &&
      !root.activeElement &&
      root.host.getBoundingClientRect().top >= 0
    );
  }

  forget(id: string): void {
    this.#arrived.delete(id);
    this.showCount();
  }

  /** The list was loaded: a comment that it shows does not wait behind the button. */
  forgetListed(): void {
    this.#isBehind = false;
    for (const id of this.#thread.comments.main.views.keys()) this.#arrived.delete(id);
    this.showCount();
  }

  showCount(): void {
    const { text } = this.#thread;
    this.#button.hidden = this.#arrived.size === 0 && !this.#isBehind;
    this.#thread.updateEmpty();
    this.#button.textContent = this.#isBehind ? text.reload : this.#sentence();
  }

  /** Puts the new comments on top of the list, or loads the list anew when there are too many. */
  async #show(): Promise<void> {
    const { comments, reader, roots } = this.#thread;
    const ids = [...this.#arrived.keys()];
    this.#arrived.clear();
    if (this.#isBehind || ids.length > MAX_ARRIVED) {
      roots.loadFirst({ pastCaches: true });
      return;
    }
    this.#button.hidden = true;
    const fetched = await Promise.all(ids.map((id) => this.#fetchComment(id)));
    const views = fetched.flatMap((comment) => {
      if (!comment || isTombstone(comment)) return [];
      return comments.place(comment, comments.main, { isKept: true }) ?? [];
    });
    for (const view of views) view.node.classList.add('new');
    this.#thread.updateEmpty();
    views.at(-1)?.focus();
    reader.loadOverlay(views.map((view) => view.comment.id));
  }

  #askToReload(): void {
    this.#isBehind = true;
    this.showCount();
  }

  /** Fetches the text of a shown comment; once more a little later when a cache had the old one. */
  async #refresh(id: string, { isRepetition = false } = {}): Promise<void> {
    const { comments, recent } = this.#thread;
    if (!comments.floorOf(id)) return;
    // When a floor was edited is not known, and then one more fetch does no harm.
    const editedAtBefore = comments.viewsOf(id)[0]?.comment.edited_at ?? 0;
    const comment = await this.#fetchComment(id);
    if (!comment) return;
    comments.updateEach(id, () => recent.applyTo(comment));
    if (isRepetition || (comment.edited_at ?? 0) > editedAtBefore) return;
    setTimeout(() => this.#refresh(id, { isRepetition: true }), jitter(CACHE_CATCH_UP_MS));
  }

  /** Null for a comment that cannot be fetched. */
  async #fetchComment(id: string): Promise<Comment | null> {
    try {
      return (await fetchComment(this.#thread.api, id)).data;
    } catch {
      return null;
    }
  }
}
