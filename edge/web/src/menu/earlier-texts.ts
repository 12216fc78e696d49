/** The window with the earlier texts of a comment, the last one first: until when each stood, and what was changed of it. */

import { AccountDialog } from '../account/dialog.ts';
import { listEarlierTexts } from '../api/member-calls.ts';
import { fetchComment } from '../api/place-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import type { EarlierText } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { ShownComment } from '../model/shown-comment.ts';
import { describeProblem } from '../text/describe-problem.ts';
import { fullTime } from '../text/full-time.ts';
import { menuText } from '../text/menu.ts';
import { changedWords } from './changed-words.ts';
import type { MenuHost } from './host.ts';

export async function openEarlierTexts(
  { api, frame, locale, text }: MenuHost,
  { id }: ShownComment,
  opener: HTMLElement,
): Promise<void> {
  const own = menuText(locale);
  const dialog = new AccountDialog(own.earlierTexts, text.close, () => opener.focus());
  const list = h('ol', { class: 'earlier', 'aria-busy': 'true' });
  dialog.body.append(list);
  dialog.open(frame.section);
  try {
    const [earlierTexts, current] = await Promise.all([
      listEarlierTexts(api, id),
      fetchComment(api, id),
    ]);
    const texts = earlierTexts.data.data;
    const items = texts.map((earlier, place) =>
      drawText(earlier, texts[place + 1]?.content ?? current.data.content, locale),
    );
    if (items.length > 0) list.append(...items.reverse());
    else list.replaceWith(h('p', {}, own.noEarlierTexts));
  } catch (problem) {
    if (!(problem instanceof ApiProblem)) throw problem;
    dialog.error.textContent = describeProblem(locale, problem);
  }
  list.removeAttribute('aria-busy');
}

function drawText(
  { content, replaced_at }: EarlierText,
  next: string,
  locale: MenuHost['locale'],
): HTMLElement {
  const dateTime = new Date(replaced_at).toISOString();
  const [begin, changed, end] = changedWords(content, next, locale.tag);
  const time = h('time', { datetime: dateTime }, fullTime(locale, dateTime));
  const mark = changed ? [h('mark', {}, changed)] : [];
  return h(
    'li',
    {},
    h('p', { class: 'when' }, menuText(locale).until, ' ', time),
    h('p', { class: 'earlier-text', dir: 'auto' }, begin, ...mark, end),
  );
}
