/** What the reader is notified of, newest first, in a window; it is read when it is shown. */

import { listNotifications, readNotifications } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Notification } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { accountText } from '../text/account.ts';
import { describeProblem } from '../text/describe-problem.ts';
import { commentLink } from './comment-link.ts';
import { AccountDialog } from './dialog.ts';

export type NotificationsHost = Pick<ThreadContext, 'api' | 'locale' | 'subject' | 'text'>;

/** Shows them; `place` is in the shadow tree. */
export async function openNotifications(
  host: NotificationsHost,
  bell: { markRead(): void },
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
      const { data } = await listNotifications(api, cursor ? { cursor } : {});
      list.append(...data.data.map((each) => item(host, each, () => dialog.close())));
      const { next } = data.page;
      more.hidden = next === null;
      more.onclick = () => load(next ?? undefined);
      if (list.childElementCount === 0) list.append(h('li', {}, own.noNotifications));
      const newest = data.data[0];
      if (!cursor && newest && data.unread > 0) {
        await readNotifications(api, newest.id);
        bell.markRead();
      }
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem;
      dialog.error.textContent = describeProblem(locale, problem);
    }
  };
  await load();
}

function item(host: NotificationsHost, notification: Notification, close: () => void): HTMLElement {
  const { locale } = host;
  const { comment, created_at, read } = notification;
  const own = accountText(locale);
  const sentence = sentenceOf(host, notification);
  return h(
    'li',
    { class: read ? null : 'is-unread' },
    h('p', {}, ...sentence, ' · ', locale.timeAgo(created_at)),
    comment ? commentLink(host, comment, close) : h('p', { class: 'excerpt' }, own.gone),
  );
}

function sentenceOf(
  { locale, text }: NotificationsHost,
  { kind, actor, comment, title }: Notification,
): (string | HTMLElement)[] {
  const own = accountText(locale);
  const name = actor?.name || text.anonymous;
  if (kind === 'decision') return [own.decided];
  if (kind === 'watched') {
    return [own.newComments, ': ', h('bdi', {}, title || comment?.subject.key || '…')];
  }
  // A server that is newer than this page may have kinds that it does not know.
  return [own.notified[kind]?.(name) ?? name];
}
