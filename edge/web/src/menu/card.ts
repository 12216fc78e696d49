/** The card of an author: who it is here, and what they have written last. */

import { commentLink } from '../account/comment-link.ts';
import { listMemberComments } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Author } from '../api/wire.ts';
import { authorBadges } from '../comment/badges.ts';
import { showAuthor } from '../comment/parts.ts';
import { h } from '../dom/html.ts';
import { uniqueId } from '../dom/template.ts';
import { memberOf } from '../model/member.ts';
import { authorNameOf } from '../model/shown-comment.ts';
import { describeProblem } from '../text/describe-problem.ts';
import { menuText } from '../text/menu.ts';
import type { MenuHost } from './host.ts';
import type { Muting } from './muting.ts';
import { openPopup, type Popup } from './popup.ts';

const SHOWN_COMMENTS = 10;

export async function openCard(
  host: MenuHost,
  author: Author,
  muting: Muting,
  opener: HTMLElement,
): Promise<void> {
  const { frame, identity, locale, ownerId, text } = host;
  const own = menuText(locale);
  const name = authorNameOf({ author }, locale);
  const heading = h('h3', { id: uniqueId('card'), dir: 'auto' }, name);
  const list = h('ol', { 'aria-busy': 'true' });
  const avatar = h('div', { class: 'avatar', 'aria-hidden': 'true' });
  showAuthor(avatar, author, name);
  const node = h(
    'div',
    { class: 'profile', part: 'card', role: 'dialog', 'aria-labelledby': heading.id, tabindex: -1 },
    h(
      'div',
      { class: 'profile-head' },
      avatar,
      h('div', {}, heading, ...authorBadges(author, ownerId, text)),
    ),
    h('h4', {}, own.newest),
    list,
  );
  const popup = openPopup(node, opener, frame.section);
  if (!popup) return;
  if (author.id !== memberOf(identity)?.id) node.append(muteButton(host, author, muting, popup));
  node.focus();
  await showComments(host, author, list, popup);
}

function muteButton(
  { locale }: MenuHost,
  author: Author,
  muting: Muting,
  popup: Popup,
): HTMLElement {
  const own = menuText(locale);
  const name = authorNameOf({ author }, locale);
  const isMuted = muting.has(author);
  const toggle = () => {
    popup.close();
    muting.set(author, !isMuted);
  };
  return h(
    'button',
    { type: 'button', class: 'link', on: { click: toggle } },
    isMuted ? own.unmute(name) : own.mute(name),
  );
}

async function showComments(
  host: MenuHost,
  { id }: Author,
  list: HTMLElement,
  popup: Popup,
): Promise<void> {
  const { api, locale } = host;
  try {
    const { data } = await listMemberComments(api, id, SHOWN_COMMENTS);
    const items = data.data.map((comment) =>
      h(
        'li',
        {},
        commentLink(host, comment, popup.close),
        h('span', { class: 'when' }, locale.timeAgo(comment.created_at)),
      ),
    );
    list.append(...(items.length > 0 ? items : [h('li', {}, menuText(locale).noComments)]));
  } catch (problem) {
    if (!(problem instanceof ApiProblem)) throw problem;
    list.append(h('li', { class: 'error' }, describeProblem(locale, problem)));
  }
  list.removeAttribute('aria-busy');
  popup.place();
}
