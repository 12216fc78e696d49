/** The first line of a comment: author, badges, time and floor. */

import { h } from '../dom/html.ts';
import { authorNameOf, hasFlag, isTombstone, type ShownComment } from '../model/shown-comment.ts';
import type { Locale } from '../text/locale.ts';
import { timeLink } from './parts.ts';

export interface HeaderIds {
  author: string;
  when: string;
  floor: string;
}

export class CommentHeader {
  readonly node: HTMLDivElement;
  readonly #locale: Locale;
  readonly #author: HTMLSpanElement;
  readonly #edited: HTMLSpanElement;
  readonly #floor: HTMLSpanElement;

  /** The ids name the comment for a screen reader. */
  constructor(comment: ShownComment, locale: Locale, ids: HeaderIds) {
    this.#locale = locale;
    this.#author = h('span', { class: 'author', id: ids.author });
    this.#edited = h('span', { class: 'edited' }, locale.text.edited);
    this.#floor = h('span', { class: 'floor', id: ids.floor });
    const when = timeLink(comment, locale, ids.when);
    this.node = h('div', { class: 'head' }, this.#author, when, this.#edited, this.#floor);
  }

  /** `floor` is its number as the mode counts; empty where it counts none. */
  render(comment: ShownComment, floor: string, isPinned: boolean): void {
    this.#author.textContent = authorNameOf(comment, this.#locale);
    this.renderBadges(comment, isPinned);
    this.#edited.hidden = isTombstone(comment) || !comment.edited_at;
    this.#floor.textContent = floor;
  }

  renderBadges(comment: ShownComment, isPinned: boolean): void {
    for (const badge of this.node.querySelectorAll('.badge')) badge.remove();
    const { text } = this.#locale;
    const badges: HTMLElement[] = [];
    if (comment.author?.guest) {
      badges.push(h('span', { class: 'badge guest', title: text.guestLabel }, text.guest));
    }
    const role = comment.author?.role;
    if (role) badges.push(h('span', { class: 'badge staff' }, text.roles[role]));
    const level = comment.author?.level;
    if (level) {
      badges.push(h('span', { class: 'badge', title: text.levelLabel(level) }, text.level(level)));
    }
    if (isPinned || hasFlag(comment, 'pinned') || hasFlag(comment, 'owner_pinned')) {
      badges.push(h('span', { class: 'badge pinned' }, text.pinned));
    }
    if (hasFlag(comment, 'featured')) {
      badges.push(h('span', { class: 'badge featured' }, text.featured));
    }
    this.#author.after(...badges);
  }
}
