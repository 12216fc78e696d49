/**
 * All replies under one comment, page by page. Those that are there stay where they are, the others come below them, and
 * all of these can be folded away again.
 */

import '../text/later.ts';
import { type ListPage, ListPager } from '../api/pager.ts';
import { listReplies } from '../api/place-calls.ts';
import { announce } from '../dom/announce.ts';
import { h } from '../dom/html.ts';
import { composerText } from '../text/composer.ts';
import type { CommentHost, OwningComment, PlacedReply } from './host.ts';

const REPLIES_PER_PAGE = 50;

export class AllReplies {
  readonly #thread: CommentHost;
  readonly #view: OwningComment;
  /** Asks for the next page. */
  readonly #moreButton: HTMLButtonElement;
  readonly #foldButton: HTMLButtonElement;
  readonly #pager: ListPager;
  readonly #placed: PlacedReply[] = [];
  #isFolded = false;
  #isLoading = false;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    this.#moreButton = view.rest;
    this.#foldButton = h('button', {
      type: 'button',
      class: 'link more-replies fold-replies',
      hidden: true,
      on: { click: () => this.#fold(!this.#isFolded) },
    });
    this.#moreButton.after(this.#foldButton);
    const { id } = view.comment;
    this.#pager = new ListPager((query, options) => listReplies(thread.api, id, query, options), {
      sort: 'old',
      limit: REPLIES_PER_PAGE,
    });
  }

  /** Shows the next page, the oldest first. */
  async showNext(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    this.#moreButton.setAttribute('aria-disabled', 'true');
    this.#view.showMessage('');
    try {
      const page = await this.#pager.next();
      await this.#thread.comments.addPage(page);
      this.#showPage(page);
    } catch (problem) {
      this.#thread.report(problem, this.#view);
    } finally {
      this.#isLoading = false;
      this.#moreButton.removeAttribute('aria-disabled');
    }
  }

  #showPage({ items, isEnded, isStale }: ListPage): void {
    const { comments, frame, reader, text } = this.#thread;
    const placed = comments.placeReplies(this.#view, items);
    this.#placed.push(...placed);
    this.#moreButton.textContent = text.moreReplies;
    this.#moreButton.hidden = isEnded;
    this.#fold(false);
    frame.showStale(isStale);
    announce(frame, text.repliesLoaded(placed.length));
    placed[0]?.focus();
    reader.loadOverlay(items.map((reply) => reply.id));
  }

  #fold(isFolded: boolean): void {
    this.#isFolded = isFolded;
    for (const { node } of this.#placed) node.hidden = isFolded;
    this.#moreButton.hidden = isFolded || this.#pager.isEnded;
    const { locale, text } = this.#thread;
    const { replies } = this.#view.comment;
    this.#foldButton.hidden = this.#placed.length === 0;
    this.#foldButton.textContent = isFolded
      ? text.showReplies(replies)
      : composerText(locale).fewerReplies;
    this.#foldButton.setAttribute('aria-expanded', String(!isFolded));
    // The button stands where the replies were.
    if (isFolded) this.#foldButton.scrollIntoView({ block: 'nearest' });
  }
}
