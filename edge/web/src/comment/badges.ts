/** What a comment and its author are: small words beside the name. */

import type { Author } from '../api/wire.ts';
import { make } from '../dom/template.ts';
import { hasFlag, type ShownComment } from '../model/shown-comment.ts';
import type { Strings } from '../text/en.ts';

export function commentBadges(
  comment: ShownComment,
  isPinned: boolean,
  ownerId: string | null,
  text: Strings,
): HTMLElement[] {
  const badges = authorBadges(comment.author, ownerId, text);
  if (isPinned || hasFlag(comment, 'pinned') || hasFlag(comment, 'owner_pinned')) {
    badges.push(badge('pinned', text.pinned));
  }
  if (hasFlag(comment, 'featured')) badges.push(badge('featured', text.featured));
  return badges;
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

const badge = (name: string, textContent: string, title = '') =>
  make('span', { className: `badge ${name}`, part: 'seal', textContent, title });
