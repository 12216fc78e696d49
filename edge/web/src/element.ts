/** The custom element: attributes as properties, methods, and a new thread whenever they ask for one. */

import { ALL_SORTS, sortOf } from './api/first-page.ts';
import type { Sort } from './api/wire.ts';
import { loadLocale } from './languages/load-locale.ts';
import { SCRIPT_ORIGIN } from './script.ts';
import { PageTheme, type Theme } from './style/page-theme.ts';
import { styleSheet } from './style/style-sheet.ts';
import { Locale } from './text/locale.ts';
import { linkedCommentId } from './thread/comment-hash.ts';
import type { TokenSource } from './thread/host-token.ts';
import { CommentThread } from './thread/thread.ts';
import { chosenSort } from './util/chosen-sort.ts';
import { hasSignInCode } from './util/sign-in-code.ts';

const TIMES_INTERVAL_MS = 60_000;
/** An element that waits loads when it is so near to the window. */
const LAZY_MARGIN = '800px';

/** Attributes that are properties too, with the words they take. The first word is the default; without words any text is right. */
const REFLECTED_ATTRIBUTES = {
  subject: [],
  api: [],
  sort: ALL_SORTS,
  theme: ['auto', 'light', 'dark'],
  loading: ['lazy', 'eager'],
  live: ['on', 'off'],
  keys: ['on', 'off'],
  emoji: [],
} as const satisfies Record<string, readonly string[]>;

type Switch = 'on' | 'off';
/** Frameworks give switches as booleans, some of them in attributes. */
const SWITCH_WORDS: Readonly<Record<string, Switch>> = { true: 'on', false: 'off' };

export class GailouComments extends HTMLElement {
  static readonly observedAttributes = [...Object.keys(REFLECTED_ATTRIBUTES), 'lang', 'token'];

  /** `article/hello`. */
  declare subject: string;
  /** The address of the server; empty for the one that the script came from. */
  declare api: string;
  declare sort: Sort;
  declare theme: Theme;
  declare loading: 'lazy' | 'eager';
  declare live: Switch;
  declare keys: Switch;
  /** The address of more emoji and stickers, in the format of OwO. */
  declare emoji: string;

  readonly #root: ShadowRoot;
  readonly #pageTheme = new PageTheme(this, () => this.theme);
  #thread: CommentThread | null = null;
  #token: TokenSource = null;
  #asked: ((thread: CommentThread) => void)[] = [];
  #awaitedLocale: Locale | Promise<Locale> | null = null;
  #isRestartQueued = false;
  #timesTimer: ReturnType<typeof setInterval> | undefined;
  #nearness: IntersectionObserver | null = null;
  /** Null while the element is on no page. */
  #attached: AbortController | null = null;

  static {
    for (const [name, words] of Object.entries(REFLECTED_ATTRIBUTES)) {
      Object.defineProperty(GailouComments.prototype, name, {
        enumerable: true,
        get(this: GailouComments) {
          const given = this.getAttribute(name) ?? '';
          const value = SWITCH_WORDS[given] ?? given;
          return words.length === 0 || words.includes(value as never) ? value : words[0];
        },
        set(this: GailouComments, value: unknown) {
          if (value === null || value === undefined) this.removeAttribute(name);
          else this.setAttribute(name, SWITCH_WORDS[String(value)] ?? String(value));
        },
      });
    }
  }

  constructor() {
    super();
    this.#root = this.attachShadow({ mode: 'open' });
    this.#root.adoptedStyleSheets = [styleSheet(), this.#pageTheme.sheet];
    // What the server rendered stays while a language is on its way.
    this.#root.append(document.createElement('slot'));
  }

  connectedCallback(): void {
    this.#takeEarlyProperties();
    // An element that is moved within the page keeps its thread.
    if (this.#attached) return;
    this.#attached = new AbortController();
    const { signal } = this.#attached;
    window.addEventListener('hashchange', () => this.#followAddress(), { signal });
    document.addEventListener('visibilitychange', () => this.#thread?.updateLive(), { signal });
    this.#timesTimer = setInterval(() => this.#thread?.frame.updateTimes(), TIMES_INTERVAL_MS);
    this.#pageTheme.follow(signal);
    this.#restart();
    // Comments that name no subject are of the page.
    if (!this.subject) import('./util/page-subject.ts').then((page) => page.takePage(this));
  }

  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (this.isConnected || !this.#attached) return;
      this.#attached.abort();
      this.#attached = null;
      clearInterval(this.#timesTimer);
      this.#stop();
      this.#thread = null;
      this.#awaitedLocale = null;
    });
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after) return;
    if (name === 'token') this.token = after;
    if (!this.#attached) return;
    if (name === 'theme') this.#pageTheme.update();
    else if (name === 'live') this.#thread?.updateLive();
    else if (name === 'sort') this.#thread?.setSort(this.sort);
    else if (name === 'loading' && after === 'eager') this.#load();
    else if (['subject', 'api', 'lang'].includes(name)) this.#queueRestart();
  }

  /**
   * The token of a member of the host page, or a function that fetches one, which is called again when the server
   * refuses a token. It may be set at any time.
   */
  get token(): TokenSource {
    return this.#token;
  }

  set token(value: TokenSource | undefined) {
    this.#token = value || null;
    this.#thread?.setToken(this.#token);
  }

  /** Loads the list anew, past every cache. */
  reload(): void {
    this.#ask((thread) => {
      if (thread.isStarted) thread.roots.loadFirst({ pastCaches: true });
      else this.#load();
    });
  }

  /** Puts the cursor into the form for a new comment. */
  focusComposer(): void {
    this.#ask((thread) => {
      this.#load();
      thread.frame.composer.querySelector('textarea')?.focus();
    });
  }

  /** Shows a comment of this thread, as a link to it does. */
  open(id: string): void {
    const hash = `#comment-${id}`;
    if (location.hash !== hash) location.hash = hash;
    else this.#followAddress();
  }

  #followAddress(): void {
    if (this.#thread?.isStarted) this.#thread.followAddress();
    else if (linkedCommentId()) this.#load();
  }

  /** Does what the page asks for as soon as there is a thread. */
  #ask(action: (thread: CommentThread) => void): void {
    if (this.#thread) action(this.#thread);
    else this.#asked.push(action);
  }

  /** Properties that were set before the element was defined hide the accessors. */
  #takeEarlyProperties(): void {
    const own = this as unknown as Record<string, unknown>;
    for (const name of [...Object.keys(REFLECTED_ATTRIBUTES), 'token']) {
      if (!Object.hasOwn(own, name)) continue;
      const value = own[name];
      delete own[name];
      own[name] = value;
    }
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

  /** A text in another language than English has to come first. */
  #restart(): void {
    this.#stop();
    const language = this.closest<HTMLElement>('[lang]:not([lang=""])')?.lang;
    const locale = loadLocale(language, ...navigator.languages);
    this.#awaitedLocale = locale;
    if (locale instanceof Locale) this.#begin(locale);
    else locale.then((loaded) => this.#awaitedLocale === locale && this.#begin(loaded));
  }

  #begin(locale: Locale): void {
    const { subject, sort } = this.#thread ?? {};
    const begun = this.hasAttribute('sort') ? this.sort : sortOf(chosenSort());
    this.#thread = new CommentThread(this, this.#root, {
      base: (this.api || SCRIPT_ORIGIN).replace(/\/$/, ''),
      subject: this.subject,
      locale,
      // Another language is no other choice.
      sort: sort && subject === this.subject ? sort : begun,
      token: this.#token,
      areKeysAllowed: () => this.keys === 'on',
      isLiveAllowed: () => this.isConnected && this.live === 'on',
    });
    if (this.loading === 'eager' || linkedCommentId() || hasSignInCode()) this.#load();
    else this.#loadWhenNear();
    for (const action of this.#asked.splice(0)) action(this.#thread);
  }

  #stop(): void {
    this.#nearness?.disconnect();
    this.#thread?.stop();
  }

  /** A page is read from its top: who does not come near to the comments does not pay for them. */
  #loadWhenNear(): void {
    // `scrollMargin` is for an element in a box that scrolls by itself.
    const options = { rootMargin: LAZY_MARGIN, scrollMargin: LAZY_MARGIN };
    this.#nearness = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) this.#load();
    }, options);
    this.#nearness.observe(this);
  }

  #load(): void {
    this.#nearness?.disconnect();
    if (!this.#thread?.isStarted) this.#thread?.start();
  }
}
