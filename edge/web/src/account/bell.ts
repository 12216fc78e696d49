/** The bell: how many notifications are unread. What they are is `notifications.ts`. */

import { listNotifications } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { h, icon } from '../dom/html.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { jitter, type Timer } from '../util/time.ts';

const BELL_PATH = 'M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 2h-15zM10 21h4';
/** How often an open page asks. */
const POLL_MS = 120_000;

export type BellHost = Pick<ThreadContext, 'api' | 'identity' | 'locale' | 'text'>;

export class Bell {
  readonly node: HTMLButtonElement;
  readonly #host: BellHost;
  readonly #count = h('span', { class: 'unread', 'aria-hidden': 'true' });
  #timer: Timer | undefined;

  /** `open` shows the notifications. */
  constructor(host: BellHost, open: () => void) {
    this.#host = host;
    this.node = h(
      'button',
      {
        type: 'button',
        class: 'bell',
        hidden: true,
        on: { click: open },
      },
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
        const { data } = await listNotifications(api, { limit: 1 });
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

  /** Nothing is unread any more. */
  markRead(): void {
    this.#show(0, true);
  }

  #show(unread: number, hasAny: boolean): void {
    const { locale, text } = this.#host;
    this.node.hidden = unread === 0 && !hasAny;
    this.node.setAttribute('aria-label', text.notifications(unread));
    this.node.title = text.notifications(unread);
    this.#count.textContent = unread > 0 ? locale.shortNumber(unread) : '';
  }
}
