/** The reader's account, from the thread's side: what it needs is loaded when there is something to do. */

import type { Guest, SignInProvider } from '../api/wire.ts';
import { type Announcing, announce } from '../dom/announce.ts';
import { kindOf } from '../model/member.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { hasSignInCode } from '../util/sign-in-code.ts';
import { jitter, type Timer } from '../util/time.ts';
import type { Bell } from './bell.ts';
import type * as AccountParts from './parts.ts';
import type { AccountSession } from './session.ts';

const NOTIFIED_AFTER_MS = 3_000;

export interface AccountHost extends ThreadContext {
  readonly frame: Announcing & {
    readonly section: HTMLElement;
    /** Where the bell is shown. */
    readonly corner: HTMLElement;
  };
  readonly reader: { onIdentityChange(): void; onMerge(guest: Guest): void };
  /** Rejects with an `ApiProblem` when the server refuses the name. */
  rename(name: string): Promise<void>;
}

interface Loaded {
  readonly parts: typeof AccountParts;
  readonly session: AccountSession;
  readonly bell: Bell;
}

export class ReaderAccount {
  readonly #host: AccountHost;
  #loading: Promise<Loaded> | null = null;
  #loaded: Loaded | null = null;
  #isStopped = false;
  #answeredTimer: Timer | undefined;

  constructor(host: AccountHost) {
    this.#host = host;
  }

  /** Keeps a session fresh, shows what is unread, and takes a code. Who has no token and no code needs none of it. */
  start(): void {
    if (this.#host.identity.token || hasSignInCode()) this.#load().catch(() => undefined);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#answeredTimer);
    this.#loaded?.session.stop();
    this.#loaded?.bell.stop();
  }

  /** The reader has been answered: the notification of it is there in a moment. */
  onAnswered(): void {
    clearTimeout(this.#answeredTimer);
    const refresh = () => this.#loaded?.bell.refresh();
    this.#answeredTimer = setTimeout(refresh, jitter(NOTIFIED_AFTER_MS));
  }

  onIdentityChange(): void {
    if (!this.#loaded) this.start();
    this.#loaded?.bell.refresh();
    this.#loaded?.session.mergeGuest();
  }

  /** Asks for another token in the place of one that was refused, or whose claims have changed. */
  async renew(): Promise<boolean> {
    if (kindOf(this.#host.identity) !== 'account') return false;
    return (await this.#load()).session.renew();
  }

  /** Whether a reader can sign in here; it is asked for at the first call. */
  async canSignIn(): Promise<boolean> {
    return (await this.#listProviders()).length > 0;
  }

  /** How readers sign in here; none where the page signs them in, or where that cannot be asked. */
  async #listProviders(): Promise<readonly SignInProvider[]> {
    const { api, identity } = this.#host;
    if (identity.hostToken) return [];
    const providers = await import('./providers.ts').catch(() => null);
    return providers?.providersOf(api) ?? [];
  }

  openSignIn(): Promise<void> {
    return this.#open(async ({ parts, session }, place) => {
      const providers = await this.#listProviders();
      parts.openSignIn({ locale: this.#host.locale, session }, providers, place);
    });
  }

  openPanel(): Promise<void> {
    return this.#open(({ parts, session }, place) => parts.openPanel(this.#host, session, place));
  }

  openNotifications(): Promise<void> {
    return this.#open(({ parts, bell }, place) => parts.openNotifications(this.#host, bell, place));
  }

  async #open(show: (loaded: Loaded, place: HTMLElement) => unknown): Promise<void> {
    const { frame, text } = this.#host;
    let loaded: Loaded;
    try {
      loaded = await this.#load();
    } catch {
      announce(frame, text.errors.network);
      return;
    }
    await show(loaded, frame.section);
  }

  #load(): Promise<Loaded> {
    this.#loading ??= this.#make().catch((error) => {
      this.#loading = null;
      throw error;
    });
    return this.#loading;
  }

  async #make(): Promise<Loaded> {
    const parts = await import('./parts.ts');
    const session = new parts.AccountSession(this.#host);
    const bell = new parts.Bell(this.#host, () => this.openNotifications());
    this.#loaded = { parts, session, bell };
    if (this.#isStopped) return this.#loaded;
    this.#host.frame.corner.replaceChildren(bell.node);
    session.start();
    bell.refresh();
    return this.#loaded;
  }
}
