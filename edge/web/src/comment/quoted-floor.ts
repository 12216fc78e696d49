/** One floor of a building: who, what, and on a press a bar to like it, to answer it, or to copy its link. */

import { announce } from '../dom/announce.ts';
import { h } from '../dom/html.ts';
import { keepTabStop } from '../dom/tab-stop.ts';
import { template } from '../dom/template.ts';
import { reactionStateWith } from '../model/comment-changes.ts';
import { authorNameOf, isTombstone, type QuotedComment } from '../model/shown-comment.ts';
import { authorBadges } from './badges.ts';
import { FOLD_HTML, TextFold } from './fold.ts';
import type { CommentHost, MessagePlace } from './host.ts';
import { openForm } from './inline-forms.ts';
import { bodyOf } from './parts.ts';
import { canShare, copyLink, shareLink } from './share.ts';

const makeFold = template(FOLD_HTML);

export class QuotedFloorView {
  readonly node = h('div', { class: 'fl', part: 'quote', role: 'listitem' });
  readonly #thread: CommentHost;
  /** The ids from the root to the floor. */
  readonly #path: string[];
  readonly #number: HTMLButtonElement;
  readonly #name: HTMLButtonElement;
  readonly #badges = h('span', { class: 'badges' });
  readonly #fold: TextFold;
  readonly #slot = h('div');
  #floor: QuotedComment;
  #isMuted = false;
  #like: HTMLButtonElement | null = null;

  constructor(thread: CommentHost, floor: QuotedComment, path: string[]) {
    this.#thread = thread;
    this.#floor = floor;
    this.#path = path;
    const { text } = thread;
    this.#fold = new TextFold(makeFold(), text);
    this.#name = h('button', {
      type: 'button',
      class: 'author',
      on: {
        click: () =>
          thread.useMenus(
            { showMessage: (sentence) => announce(thread.frame, sentence) },
            (menus) => menus.openCard(this.#floor, this.#name),
          ),
      },
    });
    this.#number = h('button', {
      type: 'button',
      class: 'number',
      part: 'floor',
      'aria-expanded': 'false',
      on: { click: () => this.#toggle() },
    });
    // A press anywhere on the floor, but not on a link in its text, nor to select a part of it.
    const press = h(
      'div',
      {
        on: {
          click: (event) => {
            const isOfItsOwn = (event.target as Element).closest('a, button');
            if (!isOfItsOwn && getSelection()?.isCollapsed !== false) this.#toggle();
          },
        },
      },
      h('div', { class: 'floor-head' }, this.#name, this.#badges, this.#number),
      this.#fold.node,
    );
    this.node.append(press, this.#slot);
    this.update(floor);
  }

  focus(): void {
    this.#number.focus();
  }

  update(floor: QuotedComment): void {
    const { api, locale, muting, ownerId, text } = this.#thread;
    const isNew = this.#fold.node.querySelector('.body') === null;
    const placeholder = muting?.placeholder(floor) ?? null;
    const wasMuted = this.#isMuted;
    this.#isMuted = placeholder !== null;
    const isTextChanged = isNew || floor.html !== this.#floor.html || isTombstone(floor);
    const isChanged = isTextChanged || wasMuted !== this.#isMuted;
    this.#floor = floor;
    const name = authorNameOf(floor, locale);
    const number = this.#path.length;
    this.#name.textContent = name;
    this.#name.disabled = isTombstone(floor);
    const author = floor.author && { ...floor.author, level: null };
    this.#badges.replaceChildren(...authorBadges(author, ownerId, text));
    this.#number.textContent = text.storey(number);
    this.#number.setAttribute('aria-label', text.actOnFloor(number, name));
    if (isChanged) this.#fold.show(placeholder ?? bodyOf(floor, locale, api.base));
    if (isTombstone(floor)) this.#close();
    this.#number.disabled = floor.state !== 'published' || isTombstone(floor);
    this.#renderLike();
  }

  #toggle(): void {
    if (this.#number.disabled) return;
    if (this.#like) {
      this.#close();
      return;
    }
    const { reader, text, isOpen } = this.#thread;
    const slot = h('div');
    const message = h('p', { class: 'error', role: 'alert' });
    const place = {
      showMessage: (sentence: string) => {
        message.textContent = sentence;
      },
    };
    this.#like = button(text.like, () => this.#react(place));
    const parent = { ...this.#floor, path: this.#path };
    const reply = button(text.build, () => openForm(this.#thread, { parent }, slot, reply, place));
    const { id } = this.#floor;
    const copy = button(text.copyLink, async () => {
      if (await copyLink(this.#thread, id, place)) copy.textContent = text.linkCopied;
    });
    const share = button(text.share, () => shareLink(id));
    share.hidden = !canShare;
    reply.hidden = !isOpen;
    this.#slot.replaceChildren(
      h('div', { class: 'floor-actions', part: 'actions' }, this.#like, reply, copy, share),
      message,
      slot,
    );
    this.#number.setAttribute('aria-expanded', 'true');
    keepTabStop(this.node);
    this.#renderLike();
    // What the reader did to it is known of the comments in the lists alone.
    reader.loadOverlay([this.#floor.id]).then(() => this.#renderLike());
  }

  #close(): void {
    this.#slot.replaceChildren();
    this.#like = null;
    this.#number.setAttribute('aria-expanded', 'false');
    keepTabStop(this.node);
  }

  get #reaction() {
    return this.#thread.reader.overlayEntry(this.#floor.id).reaction;
  }

  #renderLike(): void {
    if (!this.#like) return;
    const { locale, text } = this.#thread;
    const { likes } = this.#floor;
    this.#like.textContent = likes > 0 ? `${text.like} ${locale.shortNumber(likes)}` : text.like;
    this.#like.setAttribute('aria-pressed', String(this.#reaction === 'like'));
  }

  async #react(place: MessagePlace): Promise<void> {
    const { identity, reacting } = this.#thread;
    place.showMessage('');
    if (!identity.token && !(await this.#thread.becomeGuest(place))) return;
    const { id, likes, dislikes = 0 } = this.#floor as QuotedComment & { dislikes?: number };
    const before = { likes, dislikes, reaction: this.#reaction };
    const wanted = before.reaction === 'like' ? null : 'like';
    reacting.showReaction(id, reactionStateWith(before, wanted));
    try {
      reacting.showReaction(id, await reacting.sendReaction(id, wanted, before));
    } catch (problem) {
      reacting.showReaction(id, before);
      this.#thread.report(problem, place);
    }
  }
}

function button(label: string, click: () => void): HTMLButtonElement {
  return h('button', { type: 'button', class: 'act', on: { click } }, label);
}
