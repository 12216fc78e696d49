/**
 * Signing in with the installation: the window of a provider, and a token that is fresh as long as the reader stays.
 *
 * A refresh token is good once, and a second use ends all of them. So tabs refresh one after the other, and each first
 * looks whether another one has done it.
 *
 * Browsers keep the cookie of the server for each site apart, and the window of a provider is of another site than the page.
 * So the window hands over a code, which the page exchanges for a session of its own. A mailed link brings the code in the
 * address; it counts only in the browser that asked for the link, whose state it has, since anybody can send a link.
 */

import type { ApiClient } from '../api/client.ts';
import {
  beginSession,
  endSession,
  mailSignInLink,
  mergeGuest,
  refreshSession,
  signInUrl,
} from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { fieldDetail, isRepeatable } from '../api/problem-details.ts';
import type { Guest, Session, SignInProvider } from '../api/wire.ts';
import type { ReaderIdentity } from '../model/identity.ts';
import {
  dropGuest,
  dropSession,
  keepSession,
  kindOf,
  memberOf,
  readTokenClaims,
} from '../model/member.ts';
import { siteStorage } from '../util/json-storage.ts';
import { keepIn, removeFrom } from '../util/keep.ts';
import type { Timer } from '../util/time.ts';

/** The code of a mailed link, and the state of the browser that asked for the link. */
const CODE_IN_ADDRESS = /^#gailou-code=(\w+)&gailou-state=([\w-]+)$/;
/** A token is refreshed this long before it ends. */
const REFRESH_MARGIN_MS = 60_000;
/** After one that had no answer; the network may come back before. */
const REFRESH_RETRY_MS = 15_000;
/** The longest wait that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const WINDOW_FEATURES = 'popup,width=480,height=680';

export interface SessionHost {
  readonly api: ApiClient;
  readonly identity: ReaderIdentity;
  readonly reader: {
    onIdentityChange(): void;
    /** What this guest wrote is the reader's by now. */
    onMerge(guest: Guest): void;
  };
}

/** What the window of a provider says to the page that opened it. */
interface SignedInMessage extends Session {
  type: 'gailou:signed-in';
  code: string;
}

export class AccountSession {
  readonly #host: SessionHost;
  readonly #ended = new AbortController();
  #timer: Timer | undefined;

  constructor(host: SessionHost) {
    this.#host = host;
  }

  /** Refreshes a token that has ended, and each one before it ends; and takes the code of a mailed link. */
  start(): void {
    if (this.#host.identity.session) this.#scheduleRefresh();
    const { signal } = this.#ended;
    window.addEventListener('online', () => this.#scheduleRefresh(), { signal });
    const code = this.#takeCode();
    if (code) this.#exchange(code);
    this.mergeGuest();
  }

  /** A reader who was a guest in this browser has signed in: what the guest wrote becomes theirs, and the guest ends. */
  async mergeGuest(): Promise<void> {
    const { api, identity, reader } = this.#host;
    const { guest } = identity;
    const kind = kindOf(identity);
    if (!guest || kind === 'guest') return;
    let name = '';
    try {
      ({ name } = (await mergeGuest(api, guest.token)).data);
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem;
      // A guest who has ended is forgotten; what else went wrong may go well when the page is opened next.
      if (fieldDetail(problem, 'guest_token')) dropGuest(identity);
      return;
    }
    dropGuest(identity);
    // An account that had no name has the guest's; what is written has the name of the token.
    if (memberOf(identity)?.name !== name && (await this.renew())) reader.onIdentityChange();
    reader.onMerge(guest);
  }

  stop(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
  }

  /**
   * Opens the window of a provider; only a click may do that. False when the browser has opened none.
   * `onSignedIn` is called when the reader has signed in there.
   */
  openWindow(provider: SignInProvider, onSignedIn: () => void): boolean {
    const { api } = this.#host;
    const opened = window.open(
      signInUrl(api, provider.id, location.origin),
      'gailou-sign-in',
      WINDOW_FEATURES,
    );
    if (!opened) return false;
    const server = new URL(api.base, location.href).origin;
    const listening = new AbortController();
    const { signal } = listening;
    const onMessage = ({ origin, source, data }: MessageEvent) => {
      const message = data as Partial<SignedInMessage> | null;
      if (origin !== server || source !== opened || message?.type !== 'gailou:signed-in') return;
      const { token, expires_at, code } = message;
      if (!token || !expires_at) return;
      listening.abort();
      this.#begin({ token, expires_at });
      if (code) this.#exchange(code);
      onSignedIn();
    };
    window.addEventListener('message', onMessage, { signal });
    this.#ended.signal.addEventListener('abort', () => listening.abort(), { signal });
    return true;
  }

  /** Has a link mailed. Rejects with an `ApiProblem`. */
  async mailLink(email: string): Promise<void> {
    // The first link may be the one that is opened, also where the reader has asked for another.
    const state =
      siteStorage.get<string>(this.#stateKey) ??
      crypto.getRandomValues(new Uint32Array(4)).join('-');
    keepIn(siteStorage, this.#stateKey, state);
    const [page] = location.href.split('#');
    await mailSignInLink(this.#host.api, { email, site: location.origin, page, state });
  }

  get #stateKey(): string {
    return `gailou:sign-in:${this.#host.api.base}`;
  }

  /** The code in the address, which loses it; null where this browser has not asked for it. */
  #takeCode(): string | null {
    const found = readSignInCode();
    if (!found || found.state !== siteStorage.get(this.#stateKey)) return null;
    removeFrom(siteStorage, this.#stateKey);
    history.replaceState(history.state, '', location.pathname + location.search);
    return found.code;
  }

  async #exchange(code: string): Promise<void> {
    try {
      const { data } = await beginSession(this.#host.api, code);
      if (!this.#ended.signal.aborted) this.#begin(data);
    } catch (problem) {
      // Who came by a window has a token for some minutes; who came by a link signs in again.
      if (!(problem instanceof ApiProblem)) throw problem;
    }
  }

  /** Whether the reader is signed in, perhaps in another tab, since the last call. */
  async check(): Promise<boolean> {
    const { api, identity } = this.#host;
    if (identity.session) {
      this.#begin(identity.session);
      return true;
    }
    try {
      const { data } = await refreshSession(api);
      this.#begin(data);
      return true;
    } catch (problem) {
      if (problem instanceof ApiProblem) return false;
      throw problem;
    }
  }

  /** The server has refused the token, or what it says has changed. Whether there is another one now. */
  async renew(): Promise<boolean> {
    const { identity } = this.#host;
    if (kindOf(identity) !== 'account') return false;
    const refused = identity.session?.token;
    const session = await this.#refresh(({ token }) => token === refused);
    return session !== null && session.token !== refused;
  }

  async signOut(): Promise<void> {
    const { api, identity, reader } = this.#host;
    clearTimeout(this.#timer);
    dropSession(identity);
    reader.onIdentityChange();
    // Without an answer the cookie ends by itself.
    await endSession(api).catch(() => null);
  }

  #begin(session: Session): void {
    const { identity, reader } = this.#host;
    keepSession(identity, session);
    this.#scheduleRefresh();
    reader.onIdentityChange();
    this.mergeGuest();
  }

  #scheduleRefresh(leastWaitMs = 0): void {
    clearTimeout(this.#timer);
    const { session } = this.#host.identity;
    if (!session) return;
    const wait = Math.max(leastWaitMs, session.expires_at - Date.now() - REFRESH_MARGIN_MS);
    this.#timer = setTimeout(() => this.#refreshInTime(), Math.min(wait, MAX_TIMER_MS));
  }

  async #refreshInTime(): Promise<void> {
    const isEnding = (session: Session) =>
      session.expires_at - Date.now() <= REFRESH_MARGIN_MS && !this.#ended.signal.aborted;
    await this.#refresh(isEnding);
    if (!this.#ended.signal.aborted) this.#scheduleRefresh(REFRESH_RETRY_MS);
  }

  /** Another token, unless the one that is there is good; null when there is none any more. */
  #refresh(isNeeded: (session: Session) => boolean): Promise<Session | null> {
    const { api, identity, reader } = this.#host;
    return inTurn(`gailou:refresh:${api.base}`, async () => {
      const { session } = identity;
      if (!session || !isNeeded(session)) return session;
      try {
        const { data } = await refreshSession(api);
        if (subject(data) === subject(session)) {
          keepSession(identity, data);
          return data;
        }
        // The cookie is that of another account: what is written would be another's.
      } catch (problem) {
        if (!(problem instanceof ApiProblem)) throw problem;
        // Without an answer the cookie may be good still, whatever has become of the token.
        if (isRepeatable(problem)) return session;
      }
      dropSession(identity);
      reader.onIdentityChange();
      return null;
    });
  }
}

const subject = ({ token }: Session) => readTokenClaims(token).sub;

/** Runs a task of one tab at a time. */
function inTurn<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
  // Browsers without locks, and pages that are not secure, have one tab most of the time.
  return navigator.locks ? navigator.locks.request(name, task) : task();
}

/** The code of a mailed link and its state; null where the address has none. */
function readSignInCode(): { code: string; state: string } | null {
  const [, code = '', state = ''] = CODE_IN_ADDRESS.exec(location.hash) ?? [];
  return code ? { code, state } : null;
}
