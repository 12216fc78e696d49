/** The replies under one comment: the few that a list brings along. The others are loaded by a part of their own when they are asked for. */

import type { Comment } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { DrawnHost, OwningComment } from './host.ts';

export class ReplyList {
  readonly list = h('ol', { class: 'replies', role: 'list' });
  readonly moreButton: HTMLButtonElement;
  /** Null until the reader asks for all replies. */
  all: OwningComment['replies']['all'] = null;
  readonly #thread: DrawnHost;
  readonly #view: OwningComment;

  constructor(thread: DrawnHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    this.moreButton = h('button', {
      type: 'button',
      class: 'link more-replies',
      hidden: true,
      on: { click: () => thread.act(view, (acts) => acts.showReplies(view)) },
    });
  }

  /** Shows the replies of a comment in a list, unless the reader has opened all of them. */
  showTop(comment: Comment): void {
    if (this.all) return;
    const replies = comment.top_replies ?? [];
    const order = [...replies];
    // Parents first, so that a tree can draw an answer under what it answers.
    if (this.#thread.mode === 'tree') order.sort((a, b) => a.path.length - b.path.length);
    for (const reply of order) this.#view.placeReply(reply);
    const left = comment.more_replies || (replies.length > 0 ? 0 : comment.replies);
    this.moreButton.hidden = left <= 0;
    this.moreButton.textContent = this.#thread.text.showReplies(this.#view.comment.replies);
  }
}
