/**
 * One comment on the page. Its parts are made once and patched, so the focus and open forms
 * survive every update.
 */

import type { ListedComment, OverlayEntry } from '../api/wire.ts';
import { partsOf, uniqueId } from '../dom/template.ts';
import {
  authorNameOf,
  isTombstone,
  NO_OVERLAY_ENTRY,
  type ShownComment,
} from '../model/shown-comment.ts';
import { commentBadges } from './badges.ts';
import { useConversation } from './building.ts';
import type { CommentScope } from './comment-scope.ts';
import { TextFold } from './fold.ts';
import type { DrawnConversation, DrawnHost, OwningComment } from './host.ts';
import { bodyOf, showAuthor } from './parts.ts';

/** The thread that views are shown in, with the places of their replies. */
export interface CommentViewHost extends DrawnHost {
  readonly comments: ReplyPlaces;
  /** Makes a comment before anything is known of it: see `card.ts`. */
  readonly makeCard: () => HTMLLIElement;
}

interface ReplyPlaces {
  place(comment: ListedComment, scope: CommentScope<CommentView>): CommentView | null;
}

const REACTIONS = ['like', 'dislike'] as const;

export class CommentView implements OwningComment {
  /** The list item: the article, its replies, and the button for more of them. */
  readonly node: HTMLLIElement;
  // The parts of its template.
  declare readonly article: HTMLElement;
  declare readonly avatar: HTMLElement;
  declare readonly author: HTMLButtonElement;
  declare readonly when: HTMLAnchorElement;
  declare readonly time: HTMLTimeElement;
  declare readonly edited: HTMLElement;
  declare readonly floor: HTMLElement;
  declare readonly answer: HTMLElement;
  declare readonly answered: HTMLAnchorElement;
  declare readonly expander: HTMLButtonElement;
  declare readonly state: HTMLElement;
  declare readonly frames: HTMLElement;
  declare readonly fold: HTMLElement;
  declare readonly actions: HTMLElement;
  declare readonly like: HTMLButtonElement;
  declare readonly dislike: HTMLButtonElement;
  declare readonly reply: HTMLButtonElement;
  declare readonly more: HTMLButtonElement;
  declare readonly error: HTMLElement;
  declare readonly slot: HTMLElement;
  declare readonly replies: HTMLOListElement;
  declare readonly rest: HTMLButtonElement;
  readonly scope: CommentScope<CommentView>;
  forms: OwningComment['forms'] = null;
  allReplies: OwningComment['allReplies'] = null;
  conversation: OwningComment['conversation'] = null;
  comment: ShownComment;
  own: Readonly<OverlayEntry>;
  isPinned = false;
  /** The reader or the event stream put it here: a cached list may not hold it yet. */
  isKept = false;
  readonly #thread: CommentViewHost;
  readonly #fold: TextFold;

  constructor(thread: CommentViewHost, comment: ShownComment, scope: CommentScope<CommentView>) {
    const { locale, text } = thread;
    this.#thread = thread;
    this.comment = comment;
    this.scope = scope;
    this.own = thread.later?.reader.overlayEntry(comment.id) ?? NO_OVERLAY_ENTRY;
    const node = thread.makeCard();
    this.node = node;
    Object.assign(this, partsOf(node));
    this.#fold = new TextFold(this.fold, text);
    const { id } = comment;
    this.article.dataset.id = id;
    this.#nameParts();
    this.when.href = `#comment-${id}`;
    this.time.dateTime = new Date(comment.created_at).toISOString();
    this.time.textContent = locale.timeAgo(comment.created_at);
    node.onclick = ({ target }) => this.#onPress(target as Element);
    this.#render();
  }

  /** Names the comment and its actions for a screen reader. */
  #nameParts(): void {
    const named = [this.author, this.floor, this.when];
    for (const part of named) part.id = uniqueId('named');
    this.actions.setAttribute('aria-labelledby', this.author.id);
    this.article.setAttribute('aria-labelledby', named.map(({ id }) => id).join(' '));
  }

  /** The replies have presses of their own. */
  #onPress(target: Element): void {
    const button = target.closest<HTMLElement>('[data-act]');
    if (button?.closest('.item') === this.node) {
      this.#thread.act(this, ({ acts }) => acts.press(this, button));
    }
  }

  useConversation(action: (conversation: DrawnConversation) => unknown): Promise<void> {
    return useConversation(this.#thread, this, action);
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
    this.#renderBadges();
  }

  focus(options?: FocusOptions): void {
    this.article.focus(options);
  }

  showMessage(message: string): void {
    this.error.textContent = message;
  }

  hideBody(isHidden: boolean): void {
    this.fold.hidden = isHidden;
  }

  /**
   * Shows what the comment answers, unless its place says so: as a building where the mode has
   * buildings, or where the thread around the comment is not on the page; else as a line.
   */
  showAnswered(place: 'below-parent' | 'in-thread' | 'alone'): void {
    const { parent_id, reply_to } = this.comment;
    const { mode, text } = this.#thread;
    const isAlone = place === 'alone';
    const isAnswer = parent_id !== null && place !== 'below-parent';
    const isFramed = isAnswer && (isAlone || mode === 'building');
    this.node.classList.toggle('card', isAnswer && isAlone);
    if (isFramed || this.conversation) {
      this.useConversation((each) => each.drawByItself(isFramed, isAlone));
    }
    this.answer.hidden = !isAnswer || isFramed || !reply_to;
    this.answered.href = `#comment-${parent_id}`;
    this.answered.textContent = reply_to && (reply_to.name || text.anonymous);
  }

  /** Shows the few replies that a list brings along, unless the reader has opened all of them. */
  showReplies({ more_replies, replies, top_replies }: ListedComment): void {
    if (this.allReplies) return;
    const { comments, mode, text } = this.#thread;
    const shown = [...(top_replies ?? [])];
    const depthOf = ({ parent_id }: ListedComment): number => {
      const parent = shown.find((each) => each.id === parent_id);
      return parent ? depthOf(parent) + 1 : 0;
    };
    // Parents first, so that a tree can draw an answer under what it answers.
    if (mode === 'tree') shown.sort((a, b) => depthOf(a) - depthOf(b));
    for (const reply of shown) comments.place(reply, this.scope);
    const left = more_replies || (shown.length > 0 ? 0 : replies);
    this.rest.hidden = left <= 0;
    this.rest.textContent = text.showReplies(this.comment.replies);
  }

  renderActions(): void {
    const { isOpen, later, locale, mode, text } = this.#thread;
    const { authorName, comment, own, reply } = this;
    const isPublished = comment.state === 'published';
    for (const kind of REACTIONS) {
      const button = this[kind];
      const number = comment[`${kind}s`];
      (button.lastChild as Node).textContent = number > 0 ? locale.shortNumber(number) : '';
      button.ariaPressed = String(own.reaction === kind);
      button.hidden = !isPublished;
    }
    reply.hidden = !isPublished || !isOpen;
    [reply.textContent, reply.ariaLabel] =
      mode === 'building'
        ? [text.build, `${text.build}: ${authorName}`]
        : [text.reply, text.writeReply(authorName)];
    this.more.hidden = !isPublished;
    if (later) later.acts.render(this);
    // Without the first action the time is the tab stop.
    else this.when.tabIndex = isPublished ? -1 : 0;
  }

  #render(): void {
    const { comment } = this;
    const { api, locale, muting } = this.#thread;
    const isGone = isTombstone(comment);
    const isSending = comment.state === 'sending';
    showAuthor(this.avatar, comment.author, this.authorName);
    this.author.textContent = this.authorName;
    this.author.disabled = isGone || isSending;
    this.#renderBadges();
    this.edited.hidden = isGone || !comment.edited_at;
    this.floor.textContent = this.#floorText();
    const placeholder = muting?.placeholder(comment) ?? null;
    this.node.classList.toggle('muted', placeholder !== null);
    this.node.classList.toggle('sending', isSending);
    this.article.classList.toggle('deleted', isGone);
    this.#fold.show(placeholder ?? bodyOf(comment, locale, api.base));
    if (isGone) this.conversation?.render();
    this.renderActions();
  }

  #renderBadges(): void {
    const { ownerId, text } = this.#thread;
    for (const badge of this.article.querySelectorAll('.head .badge')) badge.remove();
    this.author.after(...commentBadges(this.comment, this.isPinned, ownerId, text));
  }

  /** A root has its number in the list, and in a building all have their place in the chain. */
  #floorText(): string {
    const { mode, text } = this.#thread;
    const { floor, id, path, root_id } = this.comment;
    const number = floor && root_id === id && text.floor(floor);
    const storey = mode === 'building' && path && text.storey(path.length);
    return [number, storey].filter(Boolean).join(' · ');
  }
}
