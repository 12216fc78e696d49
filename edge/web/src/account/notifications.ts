/** What the reader is notified of, newest first, in a window; it is read when it is shown. */

import { subjectNameOf } from '../api/paths.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Notification } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { accountText } from '../text/account.ts';
import { AccountDialog } from './dialog.ts';

/** Characters that are shown of a comment. */
const EXCERPT_LENGTH = 140;

export interface NotificationsHost extends ThreadContext {
  readonly bell: { markRead(): void };
}

/** Shows them; `place` is in the shadow tree. */
export async function openNotifications(
  host: NotificationsHost,
  place: HTMLElement,
): Promise<void> {
  const { api, locale } = host;
  const own = accountText(locale);
  const dialog = new AccountDialog(own.notificationsTitle, own.close);
  const list = h('ol', { class: 'notifications' });
  const more = h('button', { type: 'button', class: 'button', hidden: true }, own.loadOlder);
  dialog.body.append(list, more);
  dialog.open(place);
  const load = async (cursor?: string) => {
    try {
      const { data } = await api.notifications(cursor ? { cursor } : {});
      list.append(...data.data.map((each) => item(host, each, () => dialog.close())));
      const { next } = data.page;
      more.hidden = next === null;
      more.onclick = () => load(next ?? undefined);
      if (list.childElementCount === 0) list.append(h('li', {}, own.noNotifications));
      const newest = data.data[0];
      if (!cursor && newest && data.unread > 0) {
        await api.readNotifications(newest.id);
        host.bell.markRead();
      }
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem;
      dialog.error.textContent = locale.describeProblem(problem);
    }
  };
  await load();
}

function item(
  { locale, subject, text }: ThreadContext,
  { kind, actor, comment, created_at, read }: Notification,
  close: () => void,
): HTMLElement {
  const own = accountText(locale);
  const name = actor?.name || text.anonymous;
  const sentence = kind === 'decision' ? own.decided : own.notified[kind](name);
  const isHere = comment && subjectNameOf(comment.subject) === subject;
  const excerpt = comment ? excerptOf(comment.content) : own.gone;
  return h(
    'li',
    { class: read ? null : 'is-unread' },
    h('p', {}, sentence, ' · ', locale.timeAgo(created_at)),
    isHere
      ? h('a', { href: `#comment-${comment.id}`, dir: 'auto', on: { click: close } }, excerpt)
      : h('p', { class: 'excerpt', dir: 'auto' }, excerpt),
  );
}

const excerptOf = (content: string): string => {
  const chars = [...content];
  return chars.length > EXCERPT_LENGTH ? `${chars.slice(0, EXCERPT_LENGTH).join('')}…` : content;
};
