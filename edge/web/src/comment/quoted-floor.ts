/** One floor of a building: who, what, and on a press a bar to like it, to answer it, or to copy its link. */

import { h } from '../dom/html.ts';
import {
  authorNameOf,
  isTombstone,
  type QuotedComment,
  reactionStateWith,
} from '../model/shown-comment.ts';
import { TextFold } from './fold.ts';
import type { CommentHost, OwningComment } from './host.ts';
import { loadForms, openForm } from './inline-forms.ts';
import { bodyOf } from './parts.ts';

export class QuotedFloorView {
  readonly node = h('div', { class: 'fl', role: 'listitem' });
  readonly #thread: CommentHost;
  /** The ids from the root to the floor. */
  readonly #path: string[];
  readonly #number: HTMLButtonElement;
  readonly #name = h('span', { class: 'author' });
  readonly #guest: HTMLSpanElement;
  readonly #fold: TextFold;
  readonly #slot = h('div');
  #floor: QuotedComment;
  #like: HTMLButtonElement | null = null;

  constructor(thread: CommentHost, floor: QuotedComment, path: string[]) {
    this.#thread = thread;
    this.#floor = floor;
    this.#path = path;
    const { text } = thread;
    this.#fold = new TextFold(text);
    this.#guest = h('span', { class: 'badge guest', title: text.guestLabel }, text.guest);
    this.#number = h('button', {
      type: 'button',
      class: 'number',
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
      h('div', { class: 'floor-head' }, this.#name, this.#guest, this.#number),
      this.#fold.node,
    );
    this.node.append(press, this.#slot);
    this.update(floor);
  }

  focus(): void {
    this.#number.focus();
  }

  update(floor: QuotedComment): void {
    const { api, locale, text } = this.#thread;
    const isNew = this.#fold.node.querySelector('.body') === null;
    const isChanged = isNew || floor.html !== this.#floor.html || isTombstone(floor);
    this.#floor = floor;
    const name = authorNameOf(floor, locale);
    const number = this.#path.length;
    this.#name.textContent = name;
    this.#guest.hidden = !floor.author?.guest;
    this.#number.textContent = String(number);
    this.#number.setAttribute('aria-label', text.actOnFloor(number, name));
    if (isChanged) this.#fold.show(bodyOf(floor, locale, api.base));
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
    this.#like = button(text.like, () => this.#react(slot, place));
    const parent = { ...this.#floor, path: this.#path };
    const reply = button(text.build, () => openForm(this.#thread, { parent }, slot, reply, place));
    const copy = button(text.copyLink, () => this.#copyLink(copy, message));
    reply.hidden = !isOpen;
    this.#slot.replaceChildren(
      h('div', { class: 'floor-actions' }, this.#like, reply, copy),
      message,
      slot,
    );
    this.#number.setAttribute('aria-expanded', 'true');
    this.#renderLike();
    // What the reader did to it is known of the comments in the lists alone.
    reader.loadOverlay([this.#floor.id]).then(() => this.#renderLike());
  }

  #close(): void {
    this.#slot.replaceChildren();
    this.#like = null;
    this.#number.setAttribute('aria-expanded', 'false');
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

  async #react(prompt: HTMLElement, place: Pick<OwningComment, 'showMessage'>): Promise<void> {
    const { identity, reacting } = this.#thread;
    place.showMessage('');
    if (!identity.token) {
      const forms = await loadForms(this.#thread, place);
      if (!(await forms?.askGuestName(this.#thread, prompt))) return;
    }
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

  async #copyLink(copy: HTMLElement, message: HTMLElement): Promise<void> {
    const { frame, text } = this.#thread;
    const [page] = location.href.split('#');
    const link = `${page}#comment-${this.#floor.id}`;
    try {
      await navigator.clipboard.writeText(link);
      copy.textContent = text.linkCopied;
      frame.announce(text.linkCopied);
    } catch {
      // Without a secure connection there is no clipboard: the reader copies it.
      message.textContent = link;
    }
  }
}

function button(label: string, click: () => void): HTMLButtonElement {
  return h('button', { type: 'button', class: 'act', on: { click } }, label);
}
