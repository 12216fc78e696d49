/** The first line of a comment: author, badges, time and floor. */

import type { Author } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { authorNameOf, hasFlag, isTombstone, type ShownComment } from '../model/shown-comment.ts';
import type { Strings } from '../text/en.ts';
import type { Locale } from '../text/locale.ts';
import { timeLink } from './parts.ts';

/** What the comment is in its thread. */
interface Marks {
  isPinned: boolean;
  ownerId: string | null;
}

export interface HeaderIds {
  author: string;
  when: string;
  floor: string;
}

export class CommentHeader {
  readonly node: HTMLDivElement;
  readonly #locale: Locale;
  readonly #author: HTMLButtonElement;
  readonly #edited: HTMLSpanElement;
  readonly #floor: HTMLSpanElement;

  /** The ids name the comment for a screen reader; a press on the author calls `open`. */
  constructor(
    comment: ShownComment,
    locale: Locale,
    ids: HeaderIds,
    open: (author: HTMLElement) => void,
  ) {
    this.#locale = locale;
    this.#author = h('button', {
      type: 'button',
      class: 'author',
      id: ids.author,
      on: { click: () => open(this.#author) },
    });
    this.#edited = h('span', { class: 'edited' }, locale.text.edited);
    this.#floor = h('span', { class: 'floor', id: ids.floor });
    const when = timeLink(comment, locale, ids.when);
    this.node = h('div', { class: 'head' }, this.#author, when, this.#edited, this.#floor);
  }

  /** `floor` is its number as the mode counts; empty where it counts none. */
  render(comment: ShownComment, floor: string, { isPinned, ownerId }: Marks): void {
    this.#author.textContent = authorNameOf(comment, this.#locale);
    this.#author.disabled = isTombstone(comment) || comment.state === 'sending';
    this.renderBadges(comment, { isPinned, ownerId });
    this.#edited.hidden = isTombstone(comment) || !comment.edited_at;
    this.#floor.textContent = floor;
  }

  renderBadges(comment: ShownComment, { isPinned, ownerId }: Marks): void {
    for (const badge of this.node.querySelectorAll('.badge')) badge.remove();
    const { text } = this.#locale;
    const badges = authorBadges(comment.author, ownerId, text);
    if (isPinned || hasFlag(comment, 'pinned') || hasFlag(comment, 'owner_pinned')) {
      badges.push(badge('pinned', text.pinned));
    }
    if (hasFlag(comment, 'featured')) badges.push(badge('featured', text.featured));
    this.#author.after(...badges);
  }
}

/** What an author is here: the owner of the thread, a guest, of the staff, of a level. */
export function authorBadges(
  author: Author | null,
  ownerId: string | null,
  text: Strings,
): HTMLElement[] {
  if (!author) return [];
  const { guest, id, level, role } = author;
  const badges: HTMLElement[] = [];
  if (id === ownerId) badges.push(badge('owner', text.owner));
  if (guest) badges.push(badge('guest', text.guest, text.guestLabel));
  if (role) badges.push(badge('staff', text.roles[role]));
  if (level) badges.push(badge('level', text.level(level), text.levelLabel(level)));
  return badges;
}

const badge = (name: string, text: string, title: string | null = null) =>
  h('span', { class: `badge ${name}`, title }, text);
