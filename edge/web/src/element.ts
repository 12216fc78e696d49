/** The custom element: attributes, the property `token`, and a new thread whenever they ask for one. */

import { SCRIPT_ORIGIN } from './script.ts';
import { styleSheet } from './style/style-sheet.ts';
import { CommentThread } from './thread/thread.ts';

const TIMES_INTERVAL_MS = 60_000;

export class GailouComments extends HTMLElement {
  static readonly observedAttributes = ['subject', 'api', 'lang', 'sort', 'token', 'live'];

  readonly #root: ShadowRoot;
  #thread: CommentThread | null = null;
  /** A token that was set before there was a thread. */
  #earlyToken: string | null = null;
  #isRestartQueued = false;
  #timesTimer: ReturnType<typeof setInterval> | undefined;
  readonly #onHashChange = () => this.#thread?.permalink.followAddress();
  readonly #onVisibilityChange = () => this.#thread?.live.update();

  constructor() {
    super();
    this.#root = this.attachShadow({ mode: 'open' });
    this.#root.adoptedStyleSheets = [styleSheet()];
  }

  connectedCallback(): void {
    window.addEventListener('hashchange', this.#onHashChange);
    document.addEventListener('visibilitychange', this.#onVisibilityChange);
    this.#timesTimer = setInterval(() => this.#thread?.updateTimes(), TIMES_INTERVAL_MS);
    this.#takeEarlyToken();
    this.#restart();
  }

  disconnectedCallback(): void {
    window.removeEventListener('hashchange', this.#onHashChange);
    document.removeEventListener('visibilitychange', this.#onVisibilityChange);
    clearInterval(this.#timesTimer);
    this.#thread?.stop();
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after || !this.isConnected || !this.#thread) return;
    if (name === 'token') this.token = after;
    else if (name === 'live') this.#thread.live.update();
    else if (name === 'sort') this.#thread.setSort(after);
    else this.#queueRestart();
  }

  /** The token of a member of the host page; it may be set at any time. */
  get token(): string | null {
    return this.#thread?.identity.hostToken ?? null;
  }

  set token(value: string | null) {
    if (this.#thread) this.#thread.setHostToken(value || null);
    else this.#earlyToken = value;
  }

  /** A property `token` that was set before the element was defined hides the accessor. */
  #takeEarlyToken(): void {
    if (!Object.hasOwn(this, 'token')) return;
    this.#earlyToken = this.token;
    Reflect.deleteProperty(this, 'token');
  }

  /** Several attributes that change together are one restart. */
  #queueRestart(): void {
    if (this.#isRestartQueued) return;
    this.#isRestartQueued = true;
    queueMicrotask(() => {
      this.#isRestartQueued = false;
      if (this.isConnected) this.#restart();
    });
  }

  #restart(): void {
    this.#thread?.stop();
    const language = this.getAttribute('lang') || document.documentElement.lang;
    this.#thread = new CommentThread(this, this.#root, {
      base: (this.getAttribute('api') || SCRIPT_ORIGIN).replace(/\/$/, ''),
      scripts: SCRIPT_ORIGIN,
      subject: this.getAttribute('subject') || '',
      language: language || navigator.language,
      sort: this.getAttribute('sort'),
      hostToken: this.token || this.#earlyToken || this.getAttribute('token') || null,
      isLiveAllowed: () => this.isConnected && this.getAttribute('live') !== 'off',
    });
    this.#thread.start();
  }
}
