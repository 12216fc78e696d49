/**
 * One comment on the page. Its parts are made once and patched, so the focus and open forms
 * survive every update.
 */

import type { Comment, OverlayEntry } from '../api/wire.ts';
import { h, uniqueId } from '../dom/html.ts';
import { setTabStop } from '../dom/tab-stop.ts';
import {
  authorNameOf,
  isTombstone,
  NO_OVERLAY_ENTRY,
  type ShownComment,
} from '../model/shown-comment.ts';
import { Building } from './building.ts';
import type { CommentScope } from './comment-scope.ts';
import { TextFold } from './fold.ts';
import { CommentHeader } from './header.ts';
import type { DrawnHost, OwningComment } from './host.ts';
import { avatarOf, bodyOf } from './parts.ts';
import { ReactionButtons } from './reactions.ts';
import { ReplyList } from './replies.ts';

/** The thread that views are shown in, with the places of their replies. */
export interface CommentViewHost extends DrawnHost {
  readonly comments: ReplyPlaces;
}

interface ReplyPlaces {
  place(comment: Comment, scope: CommentScope<CommentView>): CommentView | null;
}

export class CommentView implements OwningComment {
  /** The list item: the article, its replies, and the button for more of them. */
  readonly node: HTMLLIElement;
  readonly scope: CommentScope<CommentView>;
  readonly replies: ReplyList;
  /** Holds at most one form. */
  readonly slot = h('div');
  readonly replyButton: HTMLButtonElement;
  forms: OwningComment['forms'] = null;
  readonly reactions: ReactionButtons;
  readonly building: Building;
  comment: ShownComment;
  own: Readonly<OverlayEntry>;
  isPinned = false;
  /** The reader or the event stream put it here: a cached list may not hold it yet. */
  isKept = false;
  readonly #thread: CommentViewHost;
  readonly #article: HTMLElement;
  readonly #menuButton: HTMLButtonElement;
  readonly #header: CommentHeader;
  readonly #answered = h('p', { class: 'answer', hidden: true });
  readonly #state = h('p', { class: 'state' });
  readonly #message = h('p', { class: 'error', role: 'alert' });
  #avatar = h('div', { class: 'avatar' });
  readonly #fold: TextFold;

  constructor(thread: CommentViewHost, comment: ShownComment, scope: CommentScope<CommentView>) {
    this.#thread = thread;
    this.comment = comment;
    this.scope = scope;
    this.own = thread.later?.reader.overlayEntry(comment.id) ?? NO_OVERLAY_ENTRY;
    const ids = { author: uniqueId('author'), when: uniqueId('when'), floor: uniqueId('floor') };
    this.#fold = new TextFold(thread.text);
    this.#header = new CommentHeader(comment, thread.locale, ids, (author) =>
      thread.act(this, (acts) => acts.openCard(this, author)),
    );
    this.#menuButton = h(
      'button',
      {
        type: 'button',
        class: 'act more',
        part: 'menu-button',
        'aria-label': thread.text.more,
        'aria-haspopup': 'menu',
        'aria-expanded': 'false',
        on: {
          click: () => thread.act(this, (acts) => acts.openMenu(this, this.#menuButton)),
        },
      },
      '⋯',
    );
    this.reactions = new ReactionButtons(thread, this);
    this.building = new Building(thread, this);
    this.replyButton = h('button', {
      type: 'button',
      class: 'act reply',
      on: { click: () => thread.act(this, (acts) => acts.formsOf(this).openReply()) },
    });
    this.replies = new ReplyList(thread, this);
    this.#article = h(
      'article',
      {
        tabindex: -1,
        'data-id': comment.id,
        'aria-labelledby': `${ids.author} ${ids.floor} ${ids.when}`,
      },
      this.#avatar,
      this.#buildMain(ids.author),
    );
    const { list, moreButton } = this.replies;
    this.node = h('li', { class: 'item' }, this.#article, list, moreButton);
    this.#render();
  }

  get authorName(): string {
    return authorNameOf(this.comment, this.#thread.locale);
  }

  update(comment: ShownComment): void {
    this.comment = { ...this.comment, ...comment };
    this.#render();
  }

  /** Takes over what the overlay says about the reader and this comment. */
  applyOverlay(entry: Readonly<OverlayEntry>): void {
    this.own = { ...this.own, ...entry };
    this.renderActions();
  }

  setPinned(): void {
    this.isPinned = true;
    this.#header.renderBadges(this.comment, this.#marks);
  }

  focus(options?: FocusOptions): void {
    this.#article.focus(options);
  }

  showMessage(message: string): void {
    this.#message.textContent = message;
  }

  hideBody(isHidden: boolean): void {
    this.#fold.node.hidden = isHidden;
  }

  /**
   * Shows what the comment answers, unless its place says so: as a building where the mode has
   * buildings, or where the thread around the comment is not on the page; else as a line.
   */
  showAnswered(place: 'below-parent' | 'in-thread' | 'alone'): void {
    const { parent_id, reply_to } = this.comment;
    const isAnswer = parent_id !== null && place !== 'below-parent';
    const isFramed = isAnswer && (place === 'alone' || this.#thread.mode === 'building');
    this.node.classList.toggle('card', isAnswer && place === 'alone');
    this.building.drawByItself(isFramed, place === 'alone');
    const isLine = isAnswer && !isFramed && reply_to;
    this.#answered.hidden = !isLine;
    if (!isLine) return;
    const { text } = this.#thread;
    this.#answered.replaceChildren(
      `${text.replyingTo} `,
      h('a', { href: `#comment-${parent_id}` }, reply_to.name || text.anonymous),
      ' · ',
      this.building.toggle,
    );
  }

  placeReply(reply: Comment): void {
    this.#thread.comments.place(reply, this.scope);
  }

  renderActions(): void {
    this.#renderState();
    this.reactions.render(this.comment.state === 'published');
    this.#renderReply();
    if (this.own.can_edit || this.own.can_delete) this.#thread.later?.acts.formsOf(this);
    this.forms?.render();
    this.#menuButton.hidden = this.comment.state !== 'published';
    setTabStop(this.#article);
  }

  #renderReply(): void {
    const { isOpen, mode, text } = this.#thread;
    const { authorName, replyButton } = this;
    const isBuilding = mode === 'building';
    replyButton.hidden = this.comment.state !== 'published' || !isOpen;
    replyButton.textContent = isBuilding ? text.build : text.reply;
    const label = isBuilding ? `${text.build}: ${authorName}` : text.writeReply(authorName);
    replyButton.setAttribute('aria-label', label);
  }

  #buildMain(authorId: string): HTMLElement {
    const actions = h(
      'div',
      { class: 'actions', role: 'toolbar', 'aria-labelledby': authorId },
      ...this.reactions.nodes,
      this.replyButton,
      this.#menuButton,
    );
    return h(
      'div',
      { class: 'main' },
      this.#header.node,
      this.#answered,
      this.#state,
      this.building.node,
      this.#fold.node,
      actions,
      this.#message,
      this.slot,
    );
  }

  #render(): void {
    const { comment } = this;
    const { api, locale, muting } = this.#thread;
    const avatar = avatarOf(comment.author, comment.author ? this.authorName : '·');
    this.#avatar.replaceWith(avatar);
    this.#avatar = avatar;
    this.#header.render(comment, this.#floorText(), this.#marks);
    const placeholder = muting?.placeholder(comment) ?? null;
    this.node.classList.toggle('muted', placeholder !== null);
    this.#fold.show(placeholder ?? bodyOf(comment, locale, api.base));
    if (isTombstone(comment)) this.building.render();
    this.node.classList.toggle('sending', comment.state === 'sending');
    this.renderActions();
  }

  get #marks() {
    return { isPinned: this.isPinned, ownerId: this.#thread.ownerId };
  }

  /** A root has its number in the list, and an answer in a building its place in the chain. */
  #floorText(): string {
    const { mode, text } = this.#thread;
    const { floor, path } = this.comment;
    if (path.length === 1) return floor ? text.floor(floor) : '';
    return mode === 'building' ? text.storey(path.length) : '';
  }

  #renderState(): void {
    this.#state.textContent = this.#thread.later?.acts.stateOf(this) ?? '';
    this.#state.hidden = !this.#state.textContent;
  }
}
