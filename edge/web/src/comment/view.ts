/**
 * One comment on the page. Its parts are made once and patched, so the focus and open forms
 * survive every update.
 */

import type { Comment, OverlayEntry } from '../api/wire.ts';
import { h, uniqueId } from '../dom/html.ts';
import { authorNameOf, type ShownComment } from '../model/shown-comment.ts';
import { BuildingToggle } from './building.ts';
import type { CommentScope } from './comment-scope.ts';
import { CommentHeader } from './header.ts';
import type { CommentHost, OwningComment } from './host.ts';
import { InlineForms } from './inline-forms.ts';
import { avatarOf, bodyOf } from './parts.ts';
import { ReactionButtons } from './reactions.ts';
import { ReplyList } from './replies.ts';

/** The thread that views are shown in, with the places of their replies. */
export interface CommentViewHost extends CommentHost {
  readonly comments: ReplyPlaces;
}

interface ReplyPlaces {
  place(comment: Comment, scope: CommentScope<CommentView>): CommentView | null;
  placeReplies(parent: CommentView, replies: Comment[], seen: ReadonlySet<string>): CommentView[];
}

export class CommentView implements OwningComment {
  /** The list item: the article, its replies, and the button for more of them. */
  readonly node: HTMLLIElement;
  readonly scope: CommentScope<CommentView>;
  readonly replies: ReplyList;
  readonly forms: InlineForms;
  readonly reactions: ReactionButtons;
  readonly building: BuildingToggle;
  readonly prompt = h('div');
  comment: ShownComment;
  own: Readonly<OverlayEntry>;
  isPinned = false;
  /** The reader or the event stream put it here: a cached list may not hold it yet. */
  isKept = false;
  readonly #thread: CommentViewHost;
  readonly #article: HTMLElement;
  readonly #header: CommentHeader;
  readonly #answered = h('p', { class: 'answer', hidden: true });
  readonly #state = h('p', { class: 'state' });
  readonly #message = h('p', { class: 'error', role: 'alert' });
  #avatar = h('div', { class: 'avatar' });
  #body = h('div');

  constructor(thread: CommentViewHost, comment: ShownComment, scope: CommentScope<CommentView>) {
    this.#thread = thread;
    this.comment = comment;
    this.scope = scope;
    this.own = thread.reader.overlayEntry(comment.id);
    const ids = { author: uniqueId('author'), when: uniqueId('when'), floor: uniqueId('floor') };
    this.#header = new CommentHeader(comment, thread.locale, ids);
    this.reactions = new ReactionButtons(thread, this);
    this.building = new BuildingToggle(thread, this);
    this.forms = new InlineForms(thread, this);
    this.replies = new ReplyList(thread, this);
    this.#article = h(
      'article',
      {
        tabindex: -1,
        'data-id': comment.id,
        'aria-labelledby': `${ids.author} ${ids.floor} ${ids.when}`,
      },
      this.#avatar,
      this.#buildMain(),
    );
    const { list, moreButton } = this.replies;
    this.node = h('li', { class: 'item' }, this.#article, list, moreButton);
    this.#render();
  }

  get authorName(): string {
    return authorNameOf(this.comment, this.#thread.locale);
  }

  get isBuildingShown(): boolean {
    return this.building.isShown;
  }

  update(comment: ShownComment): void {
    this.comment = { ...this.comment, ...comment };
    this.#render();
  }

  /** Takes over what the overlay says about the reader and this comment. */
  applyOverlay(entry: Readonly<OverlayEntry>): void {
    this.own = { ...this.own, ...entry };
    this.#renderState();
    this.renderActions();
  }

  setPinned(): void {
    this.isPinned = true;
    this.#header.renderBadges(this.comment, true);
  }

  /** Marks the comment that a permalink names. */
  markAsTarget(): void {
    this.node.classList.add('target');
  }

  focus(): void {
    this.#article.focus();
  }

  showMessage(message: string): void {
    this.#message.textContent = message;
  }

  hideBody(isHidden: boolean): void {
    this.#body.hidden = isHidden;
  }

  /** Shows the line "replying to …", or hides it where the place in the list says the same. */
  showAnswered(isVisible: boolean): void {
    const { parent_id, reply_to } = this.comment;
    this.#answered.hidden = !isVisible || !reply_to;
    if (!isVisible || !reply_to) return;
    const { text } = this.#thread;
    this.#answered.replaceChildren(
      `${text.replyingTo} `,
      h('a', { href: `#comment-${parent_id}` }, reply_to.name || text.anonymous),
    );
  }

  placeReply(reply: Comment): void {
    this.#thread.comments.place(reply, this.scope);
  }

  placeReplies(replies: Comment[], seen: ReadonlySet<string>): CommentView[] {
    return this.#thread.comments.placeReplies(this, replies, seen);
  }

  renderActions(): void {
    this.reactions.render(this.comment.state === 'published');
    this.forms.render();
    this.building.render();
  }

  #buildMain(): HTMLElement {
    const { replyButton, editButton, deleteButton, slot } = this.forms;
    const actions = h(
      'div',
      { class: 'actions' },
      ...this.reactions.nodes,
      replyButton,
      this.building.button,
      editButton,
      deleteButton,
    );
    return h(
      'div',
      { class: 'main' },
      this.#header.node,
      this.#answered,
      this.#state,
      this.building.chain,
      this.#body,
      actions,
      this.#message,
      this.prompt,
      slot,
    );
  }

  #render(): void {
    const { comment } = this;
    const { locale } = this.#thread;
    const avatar = avatarOf(comment.author, comment.author ? this.authorName : '·');
    this.#avatar.replaceWith(avatar);
    this.#avatar = avatar;
    this.#header.render(comment, this.isPinned);
    this.#renderState();
    const body = bodyOf(comment, locale, this.#thread.api.base);
    body.hidden = this.#body.hidden;
    this.#body.replaceWith(body);
    this.#body = body;
    this.node.classList.toggle('sending', comment.state === 'sending');
    this.renderActions();
  }

  #renderState(): void {
    this.#state.textContent = this.#stateText();
    this.#state.hidden = !this.#state.textContent;
  }

  #stateText(): string {
    const { text } = this.#thread;
    const { state, visibility } = this.comment;
    if (state === 'sending') return text.sending;
    if (state === 'review') return text.review;
    if (state === 'rejected') return text.rejected;
    if (visibility === 'self') return text.selfOnly;
    return state === 'published' && this.own.masked ? text.masked(this.own.masked) : '';
  }
}
