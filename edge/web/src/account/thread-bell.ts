/** The bell of a thread, with the button beside it that watches the thread. */

import { getWatch } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { type Announcing, announce } from '../dom/announce.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { accountText } from '../text/account.ts';
import { describeProblem } from '../text/describe-problem.ts';
import { Bell, type BellHost } from './bell.ts';
import { WatchButton } from './watch-button.ts';

export interface ThreadBellHost extends BellHost, Pick<ThreadContext, 'subject'> {
  readonly frame: Announcing;
}

export class ThreadBell extends Bell {
  readonly #host: ThreadBellHost;
  readonly #watch: WatchButton;
  /** The token of the reader whose watch is shown. */
  #shownFor: string | null = null;

  constructor(host: ThreadBellHost, open: () => void) {
    super(host, open);
    this.#host = host;
    const { api, frame, locale, subject } = host;
    this.#watch = new WatchButton(api, subject, accountText(locale).watch, (problem) => {
      if (problem) announce(frame, describeProblem(locale, problem));
    });
  }

  override async refresh(): Promise<void> {
    if (!this.#watch.node.isConnected) this.node.before(this.#watch.node);
    await Promise.all([super.refresh(), this.#refreshWatch()]);
  }

  /** Asks once for each reader. Who has no token watches nothing. */
  async #refreshWatch(): Promise<void> {
    const { api, identity, subject } = this.#host;
    const { token } = identity;
    if (token === this.#shownFor) return;
    this.#shownFor = token;
    this.#watch.node.hidden = true;
    if (!token || token === identity.refusedToken) return;
    try {
      const { data } = await getWatch(api, subject);
      if (identity.token === token) this.#watch.show(data.watching);
    } catch (problem) {
      // A page is whole without it; it is asked for again with the notifications.
      if (!(problem instanceof ApiProblem)) throw problem;
      this.#shownFor = null;
    }
  }
}
