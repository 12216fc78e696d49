/** `<gailou-bell>`: how many notifications of who is signed in are unread, and the list of them. */

import { Bell } from '../account/bell.ts';
import { openNotifications } from '../account/notifications.ts';
import { AccountSession } from '../account/session.ts';
import { ApiClient } from '../api/client.ts';
import { ReaderIdentity } from '../model/identity.ts';
import { IDENTITY_CHANGED } from '../model/member.ts';
import type { Locale } from '../text/locale.ts';
import type { Widget, WidgetHost } from './lazy-element.ts';
import { WidgetShell } from './shell.ts';
import '../text/later.ts';

/** `server` is the one of an element that names none. */
export function start(element: WidgetHost, server: string): Widget {
  const shell = new WidgetShell(element);
  let shown: ShownBell | null = null;
  let newest = {};
  const show = async () => {
    const asked = {};
    newest = asked;
    const locale = await shell.locale();
    if (newest !== asked) return;
    shown?.stop();
    shown = new ShownBell(shell, shell.serverOr(server), element.token, locale);
  };
  show();
  return {
    update: () => void show(),
    stop: () => {
      newest = {};
      shown?.stop();
      shell.stop();
    },
  };
}

/** The bell of one reader, in one language. */
class ShownBell {
  /** It belongs to no thread, so every notification is of another page. */
  readonly subject = '';
  readonly locale: Locale;
  readonly identity: ReaderIdentity;
  readonly api: ApiClient;
  readonly bell: Bell;
  readonly #session: AccountSession;
  readonly #stopped = new AbortController();
  readonly #section: HTMLElement;

  constructor(shell: WidgetShell, base: string, token: string | null, locale: Locale) {
    this.locale = locale;
    this.identity = new ReaderIdentity(base, token);
    this.api = new ApiClient(base, this.identity, () => this.#session.renew());
    this.#session = new AccountSession(this);
    this.bell = new Bell(this, () => openNotifications(this, this.bell, this.#section));
    this.#section = shell.show(this.bell.node, locale, null);
    const { signal } = this.#stopped;
    for (const event of [IDENTITY_CHANGED, 'storage']) {
      window.addEventListener(event, () => this.bell.refresh(), { signal });
    }
    this.#session.start();
    this.bell.refresh();
  }

  get text() {
    return this.locale.text;
  }

  readonly reader = {
    onIdentityChange: () => void this.bell.refresh(),
    onMerge: () => void this.bell.refresh(),
  };

  stop(): void {
    this.#stopped.abort();
    this.#session.stop();
    this.bell.stop();
  }
}
