/**
 * The comments of one subject in one language: makes the parts below, and holds what they share.
 * Another subject, language or server is another thread.
 */

import { ReaderAccount } from '../account/account.ts';
import { ApiClient } from '../api/client.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Comment, Sort, Subject, SubjectMode } from '../api/wire.ts';
import type { MessagePlace } from '../comment/host.ts';
import type { Composer } from '../composer/composer.ts';
import type * as Forms from '../composer/forms.ts';
import { MainComposer } from '../composer/main-composer.ts';
import type { Menus } from '../menu/menus.ts';
import type { Muting } from '../menu/muting.ts';
import { ReaderIdentity } from '../model/identity.ts';
import { mutedKey } from '../model/muted.ts';
import { RecentActs } from '../model/recent-acts.ts';
import type { Strings } from '../text/en.ts';
import type { Locale } from '../text/locale.ts';
import { keepChosenSort } from '../util/chosen-sort.ts';
import { siteStorage, tabStorage } from '../util/json-storage.ts';
import { AddressFollower } from './address.ts';
import { foldedKey } from './folded-key.ts';
import { ThreadFrame } from './frame.ts';
import { HostToken, type TokenSource } from './host-token.ts';
import { LiveUpdates } from './live.ts';
import { Reacting } from './reacting.ts';
import { ReaderState } from './reader-state.ts';
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
  readonly recent: RecentActs;
  readonly sortBar: SortBar;
  readonly frame: ThreadFrame;
  readonly comments: ShownComments;
  readonly reader: ReaderState = new ReaderState(this);
  readonly reacting: Reacting = new Reacting(this);
  readonly permalink: AddressFollower;
  readonly account: ReaderAccount = new ReaderAccount(this);
  readonly live: LiveUpdates;
  readonly hostToken: HostToken;
  readonly roots: RootList;
  /** The open forms. */
  readonly composers = new Set<Composer>();
  sort: Sort;
  /** As the server counts, with the reader's own changes since. */
  count = 0;
  readonly #element: HTMLElement;
  readonly #composer: MainComposer;
  #info: Partial<Subject> = {};
  #isReady = false;
  #writing: Writing | null = null;
  #menus: Menus | null = null;

  /** Draws the empty thread into `root`, the shadow root of `element`. */
  constructor(element: HTMLElement, root: ShadowRoot, settings: ThreadSettings) {
    const { base, locale, subject, token } = settings;
    this.#element = element;
    this.subject = subject;
    this.sort = settings.sort;
    this.locale = locale;
    this.hostToken = new HostToken(token, (each) => this.#onHostToken(each));
    this.identity = new ReaderIdentity(base, this.hostToken.current);
    this.api = new ApiClient(base, this.identity, () => this.#renewToken());
    this.recent = new RecentActs(`${base}|${subject}`);
    this.sortBar = new SortBar(this.text, this.sort, (sort) => {
      keepChosenSort(sort);
      this.setSort(sort);
    });
    this.#composer = new MainComposer(this);
    this.frame = new ThreadFrame(element, root, this.locale, {
      sorts: this.sortBar.node,
      bell: this.account.bellPlace,
      onSearch: (button) => this.#toggleSearch(button).catch(() => undefined),
      composer: this.#composer.form,
      onShowArrived: () => this.live.show(),
      onFootButton: () => this.roots.onFootButton(),
    });
    this.#loadPartsOnUse(settings.areKeysAllowed);
    this.comments = new ShownComments(this, this.frame.list);
    this.permalink = new AddressFollower(this);
    this.live = new LiveUpdates(this, settings.isLiveAllowed);
    this.roots = new RootList(this);
  }

  /** Replies that were folded before are folded at once. What cannot be loaded is tried again. */
  #loadPartsOnUse(areKeysAllowed: () => boolean): void {
    const load = () =>
      import('./used-parts.ts')
        .then(({ startUsedParts }) => startUsedParts(this, areKeysAllowed))
        .catch(() => undefined);
    if (tabStorage.get(foldedKey(this.api.base, this.subject))) load();
    for (const event of ['pointerenter', 'focusin']) {
      this.frame.section.addEventListener(event, load);
    }
  }

  /** A search that cannot be loaded is tried again by the next press. */
  async #toggleSearch(button: HTMLElement): Promise<void> {
    const { toggleSearch } = await import('./search.ts');
    toggleSearch(this, button);
  }

  start(): void {
    this.account.start();
    this.hostToken.start();
    if (!this.subject) return;
    // A link may lead to a comment that the list has.
    this.roots.loadFirst().then(() => this.permalink.followAddress());
  }

  stop(): void {
    this.roots.stop();
    this.permalink.stop();
    this.live.stop();
    this.account.stop();
  }

  /** What the reader writes with; rejects where it cannot be loaded. A second call costs nothing. */
  async loadForms(): Promise<typeof Forms> {
    const [forms] = await Promise.all([import('../composer/forms.ts'), this.#loadWriting()]);
    return forms;
  }

  async #loadWriting(): Promise<Writing> {
    const { Writing } = await import('./writing.ts');
    this.#writing ??= new Writing(this);
    return this.#writing;
  }

  /** What is on its way; null, and `place` says so, where it cannot be loaded. */
  async loaded<Part>(loading: Promise<Part>, place: MessagePlace): Promise<Part | null> {
    const part = await loading.catch(() => null);
    place.showMessage(part ? '' : this.text.errors.network);
    return part;
  }

  /** A reader who is unknown becomes a guest without a name; false, and `place` says why, when that failed. */
  async becomeGuest(place: MessagePlace): Promise<boolean> {
    try {
      const writing = await this.loaded(this.#loadWriting(), place);
      await writing?.becomeGuest();
      return writing !== null;
    } catch (problem) {
      this.report(problem, place);
      return false;
    }
  }

  /** Loads the menus; where that is impossible, `place` says so. */
  async useMenus(place: MessagePlace, use: (menus: Menus) => void): Promise<void> {
    const menus = await this.loaded(this.#loadMenus(), place);
    if (menus) use(menus);
  }

  async #loadMenus(): Promise<Menus> {
    const { Menus } = await import('../menu/menus.ts');
    this.#menus ??= new Menus(this);
    return this.#menus;
  }

  /** Whom the reader has muted is known before the first comment is shown. */
  async loadMuting(): Promise<void> {
    if (siteStorage.get(mutedKey(this.api.base))) await this.#loadMenus().catch(() => null);
  }

  get muting(): Muting | null {
    return this.#menus?.muting ?? null;
  }

  /** There is none before the forms are loaded. */
  get writing(): Writing {
    if (!this.#writing) throw new Error('The forms are not loaded');
    return this.#writing;
  }

  async rename(name: string): Promise<void> {
    await this.loadForms();
    await this.writing.rename(name);
  }

  get text(): Strings {
    return this.locale.text;
  }

  get mode(): SubjectMode {
    return this.#info.mode ?? 'two_level';
  }

  get ownerId(): string | null {
    return this.#info.owner_id ?? null;
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
      [...this.composers].every(({ form }) => form === this.#composer.form) &&
      !this.#element.shadowRoot?.activeElement &&
      this.#element.getBoundingClientRect().top >= 0
    );
  }

  /** The choice is shown with the list; one that could not be loaded can be made again. */
  setSort(sort: Sort, isStarted = true): void {
    if (sort === this.sort && this.roots.isLoaded) return;
    this.sort = sort;
    if (isStarted) this.roots.loadFirst();
    else this.sortBar.show(sort);
  }

  focusComposer(): void {
    this.#composer.focus();
  }

  /** The server has refused the token. Whether there is another one now. */
  #renewToken(): Promise<boolean> {
    return this.hostToken.isFetched ? this.hostToken.fetch() : this.account.renew();
  }

  #onHostToken(token: string | null): void {
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
    const { comments } = this.#info;
    if (comments !== undefined) {
      this.setCount(comments);
      this.sortBar.hideFor(comments);
    }
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
    this.frame.showNotice(
      this.permalink.notice || this.reader.notice || (this.isOpen ? '' : closed),
    );
    // A text that is being written stays where its author can copy it.
    const isFormShown = this.isOpen || !this.#composer.isEmpty;
    this.#composer.form.hidden = !isFormShown;
  }

  updateEmpty(): void {
    const { empty, list } = this.frame;
    const isShown = list.childElementCount === 0 && this.roots.isEnded && this.isOpen;
    empty.hidden = !isShown;
  }

  updateTimes(): void {
    this.frame.updateTimes(this.locale);
  }

  /** Shows at a comment what went wrong there. */
  report(problem: unknown, place: MessagePlace): void {
    if (!(problem instanceof ApiProblem)) throw problem;
    this.reader.dropRefusedToken(problem);
    this.emitProblem(problem);
    place.showMessage(this.locale.describeProblem(problem));
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
