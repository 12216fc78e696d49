/**
 * The comments of one subject in one language: makes the parts below, and holds what they share.
 * Another subject, language or server is another thread.
 */

import { Bell } from '../account/bell.ts';
import { AccountSession } from '../account/session.ts';
import type * as AccountWindows from '../account/windows.ts';
import { ApiClient } from '../api/client.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Comment, Sort, Subject, SubjectMode } from '../api/wire.ts';
import type { OwningComment } from '../comment/host.ts';
import { Composer } from '../composer/composer.ts';
import { ReaderIdentity } from '../model/identity.ts';
import { RecentActs } from '../model/recent-acts.ts';
import type { Strings } from '../text/en.ts';
import { Locale } from '../text/locale.ts';
import { Arrivals } from './arrivals.ts';
import { ThreadFrame } from './frame.ts';
import { LiveStream } from './live-stream.ts';
import { Permalink } from './permalink.ts';
import { ReaderState } from './reader-state.ts';
import { RootList } from './root-list.ts';
import { ShownComments } from './shown-comments.ts';
import { parseSort, SortBar } from './sort-bar.ts';
import { Writing } from './writing.ts';

export interface ThreadSettings {
  /** The address of the server, without a slash at the end. */
  base: string;
  /** The address of the element's other scripts, without a slash at the end. */
  scripts: string;
  /** `article/hello`; nothing is loaded while it is empty. */
  subject: string;
  language: string;
  sort: string | null;
  hostToken: string | null;
  isLiveAllowed: () => boolean;
}

export class CommentThread {
  readonly subject: string;
  readonly locale: Locale;
  readonly identity: ReaderIdentity;
  readonly api: ApiClient;
  readonly recent: RecentActs;
  readonly sortBar: SortBar;
  readonly frame: ThreadFrame;
  readonly comments: ShownComments;
  readonly reader: ReaderState = new ReaderState(this);
  readonly writing: Writing = new Writing(this);
  readonly arrivals: Arrivals = new Arrivals(this);
  readonly permalink: Permalink = new Permalink(this);
  readonly live: LiveStream;
  readonly session: AccountSession = new AccountSession(this);
  readonly bell: Bell = new Bell(this);
  readonly roots: RootList;
  /** The open forms; the first one is the form at the top. */
  readonly composers = new Set<Composer>();
  sort: Sort;
  /** As the server counts, with the reader's own changes since. */
  count = 0;
  readonly #element: HTMLElement;
  readonly #scripts: string;
  readonly #composer: Composer;
  #info: Partial<Subject> = {};

  /** Draws the empty thread into `root`, the shadow root of `element`. */
  constructor(element: HTMLElement, root: ShadowRoot, settings: ThreadSettings) {
    const { base, subject, language, hostToken } = settings;
    this.#element = element;
    this.#scripts = settings.scripts;
    this.subject = subject;
    this.sort = parseSort(settings.sort) ?? 'hot';
    this.locale = new Locale(language);
    this.identity = new ReaderIdentity(base, hostToken);
    this.api = new ApiClient(base, this.identity, () => this.session.renew());
    this.recent = new RecentActs(`${base}|${subject}`);
    this.sortBar = new SortBar(this.text, this.sort, (sort) => this.setSort(sort));
    this.#composer = new Composer(this);
    this.composers.add(this.#composer);
    this.frame = new ThreadFrame(element, root, this.locale, {
      sorts: this.sortBar.node,
      bell: this.bell.node,
      composer: this.#composer.form,
      onShowArrived: () => this.arrivals.show(),
      onFootButton: () => this.roots.onFootButton(),
    });
    this.comments = new ShownComments(this, this.frame.list);
    this.live = new LiveStream(this, settings.isLiveAllowed);
    this.roots = new RootList(this);
  }

  /** Signing in, and what is the reader's own. */
  readonly account = {
    canSignIn: async () => (await this.session.providers()).length > 0,
    openSignIn: async () => {
      const providers = await this.session.providers();
      this.#openWindow((windows, place) => windows.openSignIn(this, providers, place));
    },
    openPanel: () => this.#openWindow((windows, place) => windows.openPanel(this, place)),
    openNotifications: () =>
      this.#openWindow((windows, place) => windows.openNotifications(this, place)),
  };

  async #openWindow(
    open: (windows: typeof AccountWindows, place: HTMLElement) => void,
  ): Promise<void> {
    try {
      open(await import(`${this.#scripts}/account.js`), this.frame.section);
    } catch {
      this.frame.announce(this.text.errors.network);
    }
  }

  start(): void {
    this.session.start();
    this.bell.refresh();
    if (this.subject && !this.permalink.followAddress()) this.roots.loadFirst();
  }

  stop(): void {
    this.roots.stop();
    this.arrivals.stop();
    this.live.close();
    this.session.stop();
    this.bell.stop();
  }

  get text(): Strings {
    return this.locale.text;
  }

  get mode(): SubjectMode {
    return this.#info.mode ?? 'two_level';
  }

  get isOpen(): boolean {
    return (this.#info.state ?? 'open') === 'open';
  }

  get #isHidden(): boolean {
    return this.#info.state === 'hidden';
  }

  get pinned(): Comment[] {
    return this.#info.pinned ?? [];
  }

  /** Whether nothing the reader does or reads would be disturbed by another list. */
  get isIdle(): boolean {
    return (
      !this.comments.linked &&
      this.composers.size === 1 &&
      !this.#element.shadowRoot?.activeElement &&
      this.#element.getBoundingClientRect().top >= 0
    );
  }

  /** Ignores what is no sort. */
  setSort(name: string | null): void {
    const sort = parseSort(name);
    if (!sort || sort === this.sort) return;
    this.sort = sort;
    this.sortBar.show(sort);
    this.roots.loadFirst();
  }

  setHostToken(token: string | null): void {
    const { identity } = this;
    const wasModerator = identity.moderatorToken !== null;
    identity.hostToken = token;
    this.reader.onIdentityChange();
    const isModerator = identity.moderatorToken !== null;
    // A hidden subject is empty to everybody else.
    if (this.#isHidden && isModerator !== wasModerator) this.start();
  }

  /** Null keeps what is known. */
  applySubject(subject: Subject | null): void {
    this.#info = subject ?? this.#info;
    if (this.#info.comments !== undefined) this.setCount(this.#info.comments);
    this.showState();
  }

  setCount(count: number): void {
    this.count = count;
    this.frame.heading.textContent = count > 0 ? this.text.title(count) : this.text.titleNone;
    this.emit('gailou:count', { subject: this.subject, count });
  }

  /** The server has refused a post because the subject is closed. */
  close(): void {
    this.#info = { ...this.#info, state: 'closed' };
    this.showState();
    for (const view of this.comments.views) view.renderActions();
  }

  /** Shows whether one can write here, and why not. */
  showState(): void {
    const closed = this.#isHidden ? this.text.hiddenSubject : this.text.closed;
    this.frame.showNotice(this.permalink.notice || (this.isOpen ? '' : closed));
    // A text that is being written stays where its author can copy it.
    const isFormShown = this.isOpen || !this.#composer.isEmpty;
    this.#composer.form.hidden = this.comments.linked !== null || !isFormShown;
  }

  updateEmpty(): void {
    const { empty, list } = this.frame;
    const isShown = list.childElementCount === 0 && !this.comments.linked && this.roots.isEnded;
    empty.hidden = !isShown;
  }

  updateTimes(): void {
    this.frame.updateTimes(this.locale);
  }

  /** Shows at a comment what went wrong there. */
  report(problem: unknown, view: OwningComment): void {
    if (!(problem instanceof ApiProblem)) throw problem;
    this.reader.dropRefusedToken(problem);
    view.showMessage(this.locale.describeProblem(problem));
  }

  /** An event of the element; it leaves the shadow tree. */
  emit(name: string, detail: unknown): void {
    const event = new CustomEvent(name, { detail, bubbles: true, composed: true });
    this.#element.dispatchEvent(event);
  }
}
