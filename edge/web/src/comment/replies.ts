/** The replies under one comment: the few that a list brings along, and all of them on request. */

import { type ListPage, ListPager } from '../api/pager.ts';
import type { Comment } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { CommentHost, OwningComment } from './host.ts';

const REPLIES_PER_PAGE = 50;

export class ReplyList {
  readonly list = h('ol', { class: 'replies', role: 'list' });
  readonly moreButton: HTMLButtonElement;
  /** Null until the reader asks for all replies. */
  pager: ListPager | null = null;
  readonly #thread: CommentHost;
  readonly #view: OwningComment;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    this.moreButton = h('button', {
      type: 'button',
      class: 'link more-replies',
      hidden: true,
      on: { click: () => this.#expand() },
    });
  }

  /** Shows the replies of a comment in a list, unless the reader has opened all of them. */
  showTop(comment: Comment): void {
    if (this.pager) return;
    const replies = comment.top_replies ?? [];
    const order = [...replies];
    // Parents first, so that a tree can draw an answer under what it answers.
    if (this.#thread.mode === 'tree') order.sort((a, b) => a.path.length - b.path.length);
    for (const reply of order) this.#view.placeReply(reply);
    const left = comment.more_replies || (replies.length > 0 ? 0 : comment.replies);
    this.#showMoreButton(left > 0);
  }

  #showMoreButton(isVisible: boolean): void {
    const { text } = this.#thread;
    this.moreButton.hidden = !isVisible;
    this.moreButton.textContent = this.pager?.isStarted
      ? text.moreReplies
      : text.showReplies(this.#view.comment.replies);
  }

  /** Shows the next page of all replies, the oldest first. */
  async #expand(): Promise<void> {
    if (this.moreButton.getAttribute('aria-disabled') === 'true') return;
    this.moreButton.setAttribute('aria-disabled', 'true');
    this.#view.showMessage('');
    try {
      this.pager ??= this.#newPager();
      const page = await this.pager.next();
      await this.#thread.comments.addPage(page);
      this.#showPage(page, this.pager);
    } catch (problem) {
      this.#thread.report(problem, this.#view);
    } finally {
      this.moreButton.removeAttribute('aria-disabled');
    }
  }

  #newPager(): ListPager {
    const { api } = this.#thread;
    const { id } = this.#view.comment;
    return new ListPager((query, options) => api.listReplies(id, query, options), {
      sort: 'old',
      limit: REPLIES_PER_PAGE,
    });
  }

  /** The first page takes the place of the top replies. */
  #showPage(page: ListPage, pager: ListPager): void {
    const { frame, reader, text } = this.#thread;
    const { items, isEnded, isStale } = page;
    const placed = this.#view.placeReplies(items, pager.seen);
    this.#showMoreButton(!isEnded);
    frame.showStale(isStale);
    frame.announce(text.repliesLoaded(placed.length));
    placed[0]?.focus();
    reader.loadOverlay(items.map((reply) => reply.id));
  }
}
