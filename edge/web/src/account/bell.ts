/** The bell: how many notifications are unread, and the newest of them when it is opened. */

import { subjectNameOf } from '../api/paths.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Notification } from '../api/wire.ts';
import { BELL_PATH, h, icon } from '../dom/html.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { jitter, type Timer } from '../util/time.ts';
import { AccountDialog } from './dialog.ts';

/** How often an open page asks. */
const POLL_MS = 120_000;
/** Characters that are shown of a comment. */
const EXCERPT_LENGTH = 140;

export class Bell {
  readonly node: HTMLButtonElement;
  readonly #host: ThreadContext;
  readonly #count = h('span', { class: 'unread', 'aria-hidden': 'true' });
  readonly #place: () => HTMLElement;
  #timer: Timer | undefined;

  /** `place` is where its window is put. */
  constructor(host: ThreadContext, place: () => HTMLElement) {
    this.#host = host;
    this.#place = place;
    this.node = h(
      'button',
      { type: 'button', class: 'bell', hidden: true, on: { click: () => this.#open() } },
      icon(BELL_PATH),
      this.#count,
    );
  }

  /** Asks now, and again from time to time. Who has no token has no notifications. */
  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    const { api, identity } = this.#host;
    const { token } = identity;
    if (!token || token === identity.refusedToken) {
      this.node.hidden = true;
      return;
    }
    if (!document.hidden) {
      try {
        const { data } = await api.notifications();
        if (identity.token === token) this.#show(data.unread, data.data.length > 0);
      } catch (problem) {
        // It is shown where it is known: a page is whole without it.
        if (!(problem instanceof ApiProblem)) throw problem;
      }
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), jitter(POLL_MS));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #show(unread: number, hasAny: boolean): void {
    const { locale, text } = this.#host;
    this.node.hidden = unread === 0 && !hasAny;
    this.node.setAttribute('aria-label', text.notifications(unread));
    this.node.title = text.notifications(unread);
    this.#count.textContent = unread > 0 ? locale.shortNumber(unread) : '';
  }

  async #open(): Promise<void> {
    const { api, locale, text } = this.#host;
    const dialog = new AccountDialog(text.notificationsTitle, text.close);
    const list = h('ol', { class: 'notifications' });
    const more = h('button', { type: 'button', class: 'button', hidden: true }, text.loadOlder);
    dialog.body.append(list, more);
    dialog.open(this.#place());
    const load = async (cursor?: string) => {
      try {
        const { data } = await api.notifications(cursor);
        list.append(...data.data.map((each) => this.#item(each, () => dialog.close())));
        const { next } = data.page;
        more.hidden = next === null;
        more.onclick = () => load(next ?? undefined);
        if (list.childElementCount === 0) list.append(h('li', {}, text.noNotifications));
        const newest = data.data[0];
        if (!cursor && newest && data.unread > 0) {
          await api.readNotifications(newest.id);
          this.#show(0, true);
        }
      } catch (problem) {
        if (!(problem instanceof ApiProblem)) throw problem;
        dialog.error.textContent = locale.describeProblem(problem);
      }
    };
    await load();
  }

  #item({ kind, actor, comment, created_at, read }: Notification, close: () => void): HTMLElement {
    const { locale, subject, text } = this.#host;
    const name = actor?.name || text.anonymous;
    const sentence = kind === 'decision' ? text.decided : text.notified[kind](name);
    const isHere = comment && subjectNameOf(comment.subject) === subject;
    const excerpt = comment ? excerptOf(comment.content) : text.gone;
    return h(
      'li',
      { class: read ? null : 'is-unread' },
      h('p', {}, sentence, ' · ', locale.timeAgo(created_at)),
      isHere
        ? h('a', { href: `#comment-${comment.id}`, dir: 'auto', on: { click: close } }, excerpt)
        : h('p', { class: 'excerpt', dir: 'auto' }, excerpt),
    );
  }
}

const excerptOf = (content: string): string => {
  const chars = [...content];
  return chars.length > EXCERPT_LENGTH ? `${chars.slice(0, EXCERPT_LENGTH).join('')}…` : content;
};
