/**
 * The comments of one subject in one language: makes the parts below, and holds what they share.
 * Another subject, language or server is another thread.
 */

import type { ReaderAccount } from '../account/account.ts';
import { ApiClient } from '../api/client.ts';
import type { ApiProblem } from '../api/problem.ts';
import type { Sort, Subject, SubjectMode } from '../api/wire.ts';
import { cardIn } from '../comment/card.ts';
import type { CommentHost, MessagePlace } from '../comment/host.ts';
import type { CommentViewHost } from '../comment/view.ts';
import type { Composer } from '../composer/composer.ts';
import { MainComposer } from '../composer/main-composer.ts';
import type { Muting } from '../menu/muting.ts';
import { ReaderIdentity } from '../model/identity.ts';
import { mutedKey } from '../model/muted.ts';
import type { RecentActs } from '../model/recent-acts.ts';
import { recentKey } from '../model/recent-key.ts';
import type { Strings } from '../text/en.ts';
import type { Locale } from '../text/locale.ts';
import { keepChosenSort } from '../util/chosen-sort.ts';
import { siteStorage, tabStorage } from '../util/json-storage.ts';
import { hasSignInCode } from '../util/sign-in-code.ts';
import { linkedCommentId } from './comment-hash.ts';
import { foldedKey } from './folded-key.ts';
import { ThreadFrame } from './frame.ts';
import type { HostToken, TokenSource } from './host-token.ts';
import type { LaterParts } from './later-parts.ts';
import type { LiveUpdates } from './live.ts';
import type { Reacting } from './reacting.ts';
import type { ReaderState } from './reader-state.ts';
import { RootList } from './root-list.ts';
import { ShownComments } from './shown-comments.ts';
import { SortBar } from './sort-bar.ts';
import type { Writing } from './writing.ts';

export interface ThreadSettings {
  /** The address of the server, without a slash at the end. */
  base: string;
  /** `article/hello`; nothing is loaded while it is empty. */
  subject: string;
  locale: Locale;
  sort: Sort;
  token: TokenSource;
  isLiveAllowed: () => boolean;
  areKeysAllowed: () => boolean;
}

export class CommentThread {
  readonly subject: string;
  readonly locale: Locale;
  readonly identity: ReaderIdentity;
  readonly api: ApiClient;
  readonly sortBar: SortBar;
  readonly frame: ThreadFrame;
  readonly makeCard: CommentViewHost['makeCard'];
  readonly comments: ShownComments;
  readonly roots: RootList;
  readonly settings: ThreadSettings;
  /** The decision of the page, as long as the thread is not stopped. */
  readonly isLiveAllowed: () => boolean;
  /** The open forms. */
  readonly composers = new Set<Composer>();
  /** Null before the thread is used, or its reader known. */
  later: LaterParts | null = null;
  muting: Muting | null = null;
  /** Null before the event stream is loaded. */
  live: LiveUpdates | null = null;
  // What `LaterParts` adds.
  declare readonly account: ReaderAccount;
  declare readonly hostToken: HostToken;
  declare readonly reacting: Reacting;
  declare readonly reader: ReaderState;
  declare readonly recent: RecentActs;
  declare readonly becomeGuest: CommentHost['becomeGuest'];
  declare readonly close: CommentHost['close'];
  declare readonly loadForms: CommentHost['loadForms'];
  declare readonly loaded: CommentHost['loaded'];
  declare readonly renew: () => Promise<boolean>;
  declare readonly rename: (name: string) => Promise<void>;
  declare readonly report: CommentHost['report'];
  declare readonly useMenus: CommentHost['useMenus'];
  /** There is none before the forms are loaded. */
  declare writing: Writing;
  /** What the server says about the subject; a usual one until then. */
  info: Pick<Subject, 'mode' | 'owner_id' | 'state' | 'earlier_texts'> = {
    mode: 'two_level',
    owner_id: null,
    state: 'open',
  };
  sort: Sort;
  /** As the server counts, with the reader's own changes since. */
  count = 0;
  /** What the host page gives; `HostToken` asks a function for it. */
  token: TokenSource;
  /** Whether its comments are loaded, or on their way. */
  isStarted = false;
  readonly #element: HTMLElement;
  readonly #composer: MainComposer;
  #isReady = false;
  #isStopped = false;

  /** Draws the empty thread into `root`, the shadow root of `element`. */
  constructor(element: HTMLElement, root: ShadowRoot, settings: ThreadSettings) {
    const { base, locale, subject, token } = settings;
    this.#element = element;
    this.settings = settings;
    this.subject = subject;
    this.sort = settings.sort;
    this.locale = locale;
    this.token = token;
    this.identity = new ReaderIdentity(base, typeof token === 'string' ? token : null);
    // Only what acts sends a token.
    this.api = new ApiClient(base, this.identity, () => this.renew());
    this.frame = new ThreadFrame(element, root, locale);
    this.makeCard = cardIn(locale.text);
    this.sortBar = new SortBar(this.frame.sorts, this.sort, (sort) => {
      keepChosenSort(sort);
      this.setSort(sort);
    });
    this.frame.search.onclick = () => this.#whenComplete((later) => later.toggleSearch());
    this.#composer = new MainComposer(this, this.frame.composer);
    this.#loadPartsOnUse();
    this.comments = new ShownComments(this, this.frame.list);
    this.isLiveAllowed = () => settings.isLiveAllowed() && !this.#isStopped;
    this.roots = new RootList(this);
  }

  /** Replies that were folded before are folded at once. A key that is pressed before its time does something then. */
  #loadPartsOnUse(): void {
    const load = (event?: Event) => {
      // It has none when its dispatch is over.
      const target = event?.target;
      this.#whenComplete((later) => later.startUsedParts(event, target));
    };
    if (tabStorage.get(foldedKey(this.api.base, this.subject))) load();
    for (const event of ['pointerenter', 'focusin', 'keydown']) {
      this.frame.section.addEventListener(event, load);
    }
  }

  start(): void {
    this.isStarted = true;
    if (this.later) this.hostToken.start();
    else if (this.identity.token || this.token || hasSignInCode()) this.#whenComplete();
    if (this.subject) this.loadFirst();
  }

  /** A link may lead to a comment that the list has. */
  async loadFirst(): Promise<void> {
    await this.roots.loadFirst();
    this.followAddress();
  }

  /** Shows the comment that the address names, if it names one. */
  followAddress(): void {
    const id = linkedCommentId();
    if (id) this.showLinked(id);
    else this.later?.linked?.close();
  }

  showLinked(id: string): void {
    const place: MessagePlace = {
      showMessage: (message) => (message ? this.frame.showNotice(message) : this.showState()),
    };
    this.act(place, (later) => later.showLinked(id, place));
  }

  stop(): void {
    this.#isStopped = true;
    this.isStarted = false;
    this.roots.stop();
    this.later?.stop();
  }

  /** What is read before the first comment is shown: whom the reader has muted, and what the reader did a moment ago. */
  async loadBeforeFirst(): Promise<void> {
    const { base } = this.api;
    if (siteStorage.get(mutedKey(base)) || tabStorage.get(recentKey(base, this.subject))) {
      await this.complete()
        .then((later) => later.loadMuting())
        .catch(() => undefined);
    }
  }

  /** Loads what acts; rejects where it cannot be loaded. A second call costs nothing. */
  async complete(): Promise<LaterParts> {
    const { LaterParts } = await import('./later-parts.ts');
    if (!this.later) {
      this.later = new LaterParts(this);
      if (!this.#isStopped) this.later.start();
    }
    return this.later;
  }

  /** Carries out a press at once where what acts is loaded, else as soon as it is; where it cannot be loaded, `place` says so. */
  async act(place: MessagePlace, action: (later: LaterParts) => unknown): Promise<void> {
    const later = this.later ?? (await this.complete().catch(() => null));
    place.showMessage(later ? '' : this.text.errors.network);
    if (later) action(later);
  }

  /** Opens or closes the event stream. Where it cannot be loaded the list is as it was. */
  updateLive(): void {
    const isUseful = this.isLiveAllowed() && !document.hidden && this.roots.isLoaded;
    if (this.live || isUseful) this.#whenComplete((later) => later.updateLive());
  }

  get text(): Strings {
    return this.locale.text;
  }

  get mode(): SubjectMode {
    return this.info.mode;
  }

  get ownerId(): string | null {
    return this.info.owner_id;
  }

  get isOpen(): boolean {
    return this.info.state === 'open';
  }

  get isHidden(): boolean {
    return this.info.state === 'hidden';
  }

  /** The choice is shown with the list; one that could not be loaded can be made again. */
  setSort(sort: Sort): void {
    if (sort === this.sort && this.roots.isLoaded) return;
    this.sort = sort;
    if (this.isStarted) this.roots.loadFirst();
    else this.sortBar.show(sort);
  }

  /** A function is called as soon as the comments are loaded, so that it matters who reads them. */
  setToken(token: TokenSource): void {
    this.token = token;
    if (this.later) {
      this.hostToken.set(token);
      return;
    }
    this.identity.hostToken = typeof token === 'string' ? token : null;
    if (token && this.isStarted) this.#whenComplete();
    // A hidden subject is empty to everybody but a moderator.
    if (this.isHidden) this.loadFirst();
  }

  /** What cannot be loaded is tried again by the next press or change. */
  #whenComplete(action?: (later: LaterParts) => unknown): void {
    this.complete()
      .then(action)
      .catch(() => undefined);
  }

  applySubject(subject: Subject): void {
    this.info = subject;
    this.setCount(subject.comments);
    this.sortBar.hideFor(subject.comments);
    this.showState();
  }

  setCount(count: number): void {
    this.count = count;
    // Where there is nothing to find; a server without a search hides it.
    this.frame.search.style.visibility = count > 0 ? 'visible' : '';
    this.frame.heading.textContent = count > 0 ? this.text.title(count) : this.text.titleNone;
    this.emit('gailou:count', { subject: this.subject, count });
  }

  /** Shows whether one can write here, and why not. */
  showState(): void {
    const closed = this.isHidden ? this.text.hiddenSubject : this.text.closed;
    this.frame.showNotice(this.later?.notice || (this.isOpen ? '' : closed));
    // A text that is being written stays where its author can copy it.
    const isFormShown = this.isOpen || !this.#composer.isEmpty;
    this.frame.composer.hidden = !isFormShown;
  }

  updateEmpty(): void {
    const { empty, list } = this.frame;
    empty.hidden =
      list.childElementCount > 0 || !this.roots.isEnded || !this.isOpen || !!this.live?.isWaiting;
  }

  emitReady(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.emit('gailou:ready', { subject: this.subject, count: this.count });
  }

  emitProblem({ code, status }: ApiProblem): void {
    this.emit('gailou:error', { code, status });
  }

  /** An event of the element; it leaves the shadow tree. */
  emit(name: string, detail: unknown): void {
    const event = new CustomEvent(name, { detail, bubbles: true, composed: true });
    this.#element.dispatchEvent(event);
  }
}
