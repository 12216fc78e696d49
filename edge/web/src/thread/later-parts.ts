/**
 * What a thread has as soon as its reader is known, or uses it: the reader's own state, the account, and what acts on
 * comments. Who only reads does not load it.
 */

import '../text/later.ts';
import { type AccountHost, ReaderAccount } from '../account/account.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Subject } from '../api/wire.ts';
import { ReaderActs } from '../comment/acts.ts';
import type { LaterHost, MessagePlace } from '../comment/host.ts';
import type * as Forms from '../composer/forms.ts';
import type { MainComposer } from '../composer/main-composer.ts';
import type { MenuHost } from '../menu/host.ts';
import type { Menus } from '../menu/menus.ts';
import type { Muting } from '../menu/muting.ts';
import { mutedKey } from '../model/muted.ts';
import { RecentActs } from '../model/recent-acts.ts';
import { recentKey } from '../model/recent-key.ts';
import { addStyles } from '../style/style-sheet.ts';
import css from '../style/used.css';
import { describeProblem } from '../text/describe-problem.ts';
import { siteStorage } from '../util/json-storage.ts';
import { addChanges } from './comment-changes.ts';
import { HostToken, type TokenSource } from './host-token.ts';
import type { LinkedPanel, LinkedPanelHost } from './linked-panel.ts';
import type { LiveHost, LiveUpdates } from './live.ts';
import { Reacting } from './reacting.ts';
import { ReaderState } from './reader-state.ts';
import type { Writing, WritingHost } from './writing.ts';

addStyles(css, true);

export interface LaterThread
  extends MenuHost,
    WritingHost,
    Omit<LinkedPanelHost, keyof WritingHost | keyof MenuHost>,
    Omit<LiveHost, keyof WritingHost | keyof MenuHost | 'roots'>,
    Omit<AccountHost, keyof WritingHost | keyof MenuHost> {
  readonly comments: MenuHost['comments'] & WritingHost['comments'];
  readonly frame: WritingHost['frame'];
  readonly reader: ReaderState;
  readonly account: ReaderAccount;
  readonly reacting: Reacting;
  readonly roots: LiveHost['roots'] & { readonly first: { readonly epoch: number } | null };
  readonly token: TokenSource;
  readonly isStarted: boolean;
  /** Asks for another token; says whether there is one. */
  renew: () => Promise<boolean>;
  muting: Muting | null;
  writing: Writing;
  readonly isHidden: boolean;
  readonly isLiveAllowed: () => boolean;
  readonly settings: { areKeysAllowed(): boolean };
  info: Pick<Subject, 'state' | 'earlier_texts'>;
  live: LiveUpdates | null;
  loadFirst(): Promise<void>;
  showLinked(id: string): void;
}

export class LaterParts implements LaterHost {
  readonly thread: LaterThread;
  readonly acts: ReaderActs;
  readonly reader: ReaderState;
  readonly recent: RecentActs;
  readonly reacting: Reacting;
  readonly account: ReaderAccount;
  readonly hostToken: HostToken;
  /** Null until a link leads to a comment. */
  linked: LinkedPanel | null = null;
  #menus: Menus | null = null;

  /** The thread has the parts from then on, for all that is loaded later still. */
  constructor(thread: LaterThread) {
    this.thread = thread;
    addChanges(thread.comments);
    this.acts = new ReaderActs(thread);
    this.reader = new ReaderState(thread);
    this.recent = new RecentActs(recentKey(thread.api.base, thread.subject));
    this.reacting = new Reacting(thread);
    this.account = new ReaderAccount(thread);
    this.hostToken = new HostToken(thread.token, (token) => this.#onHostToken(token));
    const { account, hostToken, reacting, reader, recent } = this;
    Object.assign(thread, {
      account,
      hostToken,
      reacting,
      reader,
      recent,
      close: () => this.#closeSubject(),
      renew: () => (this.hostToken.isFetched ? this.hostToken.fetch() : this.account.renew()),
      becomeGuest: (place: MessagePlace) => this.#becomeGuest(place),
      loadForms: () => this.loadForms(),
      loaded: <Part>(loading: Promise<Part>, place: MessagePlace) => this.#loaded(loading, place),
      rename: (name: string) => this.#rename(name),
      report: (problem: unknown, place: MessagePlace) => this.#report(problem, place),
      useMenus: (place: MessagePlace, use: (menus: Menus) => void) => this.#useMenus(place, use),
    } satisfies Partial<LaterThread>);
  }

  /** Asks who the reader is, and what they did to the comments on the page. */
  start(): void {
    this.account.start();
    if (this.thread.isStarted) this.hostToken.start();
    for (const view of this.thread.comments.views) view.renderActions();
    if (this.thread.roots.isLoaded)
      this.reader.loadOverlay(this.thread.comments.views.map(({ comment }) => comment.id));
  }

  /** A first list is shown: what the reader did is shown in it. */
  onFirstList(): void {
    const { comments, live } = this.thread;
    this.reader.showRecentPosts();
    live?.forgetListed();
    this.reader.loadOverlay(comments.views.map(({ comment }) => comment.id));
  }

  stop(): void {
    this.thread.live?.stop();
    this.account.stop();
    this.linked?.stop();
  }

  /** What there is to say above the list; empty where there is nothing. */
  get notice(): string {
    return this.linked?.notice || this.reader.notice;
  }

  /**
   * Keys and what else a reader gets who comes to the comments; rejects where it cannot be loaded. `event` is what the reader
   * came with, and `target` where that was.
   */
  async startUsedParts(event?: Event, target?: EventTarget | null): Promise<void> {
    const { startUsedParts } = await import('./used-parts.ts');
    const load = () => this.loadForms().catch(() => undefined);
    const keys = startUsedParts(this.thread, this.thread.settings.areKeysAllowed, load);
    if (event instanceof KeyboardEvent && target instanceof Element) keys.catchUp(event, target);
  }

  /** Opens or closes the event stream; rejects where it cannot be loaded. */
  async updateLive(): Promise<void> {
    const { thread } = this;
    const { LiveUpdates } = await import('./live.ts');
    thread.live ??= new LiveUpdates(thread, thread.isLiveAllowed);
    thread.live.update(thread.roots.first?.epoch);
  }

  /** The host page has given another token. */
  #onHostToken(token: string | null): void {
    this.thread.identity.hostToken = token;
    this.reader.onIdentityChange();
    // A hidden subject is empty to everybody but a moderator.
    if (this.thread.isHidden) this.thread.loadFirst();
  }

  /** The server has refused a post because the subject is closed. */
  #closeSubject(): void {
    const { thread } = this;
    thread.info = { ...thread.info, state: 'closed' };
    thread.showState();
    for (const view of thread.comments.views) view.renderActions();
  }

  /** Opens the search of the thread, or closes it; rejects where it cannot be loaded. */
  async toggleSearch(): Promise<void> {
    const { toggleSearch } = await import('./search.ts');
    toggleSearch(this.thread, this.thread.frame.search);
  }

  /** Shows the comment that a link leads to; where that is impossible, `place` says so. */
  async showLinked(id: string, place: MessagePlace): Promise<void> {
    const part = await this.#loaded(import('./linked-panel.ts'), place);
    if (!part) return;
    this.linked ??= new part.LinkedPanel(this.thread);
    await this.linked.show(id);
  }

  /** Makes the form of the line at the top; where that is impossible, the line says so. */
  async openComposer(main: MainComposer): Promise<void> {
    const forms = main.composer ? null : await this.#loaded(this.loadForms(), main);
    if (!forms || main.composer) return;
    main.composer = new forms.Composer(this.thread, {}, null, main.shell);
    this.thread.composers.add(main.composer);
  }

  /** What the reader writes with; rejects where it cannot be loaded. A second call costs nothing. */
  async loadForms(): Promise<typeof Forms> {
    const [forms] = await Promise.all([import('../composer/forms.ts'), this.#loadWriting()]);
    return forms;
  }

  async #loadWriting(): Promise<Writing> {
    const { Writing } = await import('./writing.ts');
    this.thread.writing ??= new Writing(this.thread);
    return this.thread.writing;
  }

  async #rename(name: string): Promise<void> {
    const writing = await this.#loadWriting();
    await writing.rename(name);
  }

  /** What is on its way; null, and `place` says so, where it cannot be loaded. */
  async #loaded<Part>(loading: Promise<Part>, place: MessagePlace): Promise<Part | null> {
    const part = await loading.catch(() => null);
    place.showMessage(part ? '' : this.thread.text.errors.network);
    return part;
  }

  /** A reader who is unknown becomes a guest without a name; false, and `place` says why, when that failed. */
  async #becomeGuest(place: MessagePlace): Promise<boolean> {
    try {
      const writing = await this.#loaded(this.#loadWriting(), place);
      await writing?.becomeGuest();
      return writing !== null;
    } catch (problem) {
      this.#report(problem, place);
      return false;
    }
  }

  /** Loads the menus; where that is impossible, `place` says so. */
  async #useMenus(place: MessagePlace, use: (menus: Menus) => void): Promise<void> {
    const menus = await this.#loaded(this.loadMenus(), place);
    if (menus) use(menus);
  }

  /** Where the reader has muted authors, what hides their comments is there before the first comment. */
  async loadMuting(): Promise<void> {
    if (siteStorage.get(mutedKey(this.thread.api.base))) await this.loadMenus();
  }

  async loadMenus(): Promise<Menus> {
    const { Menus } = await import('../menu/menus.ts');
    this.#menus ??= new Menus(this.thread);
    this.thread.muting = this.#menus.muting;
    return this.#menus;
  }

  /** Shows at a comment what went wrong there. */
  #report(problem: unknown, place: MessagePlace): void {
    if (!(problem instanceof ApiProblem)) throw problem;
    this.reader.dropRefusedToken(problem);
    this.thread.emitProblem(problem);
    place.showMessage(this.describe(problem));
  }

  /** Why the list could not be loaded. Where a page has no comments, nothing offers to write, to search or to sort. */
  explainLoad(problem: ApiProblem): string {
    if (problem.code === 'unknown_subject_type') {
      const { composer, search, sorts } = this.thread.frame;
      for (const part of [composer, search, sorts]) part.hidden = true;
    }
    return this.describe(problem);
  }

  /** A sentence for the reader about what went wrong. */
  describe(problem: ApiProblem): string {
    return describeProblem(this.thread.locale, problem);
  }
}
