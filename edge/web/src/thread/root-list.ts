/** Loads the list of roots: the first page, and what loads the next ones where there are any. */

import { firstPageUrl } from '../api/first-page.ts';
import { type ListPage, pageOf } from '../api/list-page.ts';
import { ApiProblem } from '../api/problem.ts';
import type { ListedComment, Page, Sort, Subject } from '../api/wire.ts';
import type { CommentView } from '../comment/view.ts';
import type { LaterParts } from './later-parts.ts';
import type { MoreRoots } from './more-roots.ts';
import type { ThreadPartHost } from './part-host.ts';
import type { SortBar } from './sort-bar.ts';

interface RootListHost extends Omit<ThreadPartHost, 'recent'> {
  readonly later: LaterParts | null;
  readonly sort: Sort;
  readonly sortBar: SortBar;
  /** Loads what acts; rejects where it cannot be loaded. */
  complete(): Promise<LaterParts>;
  /** What is read before the first comment is shown. */
  loadBeforeFirst(): Promise<void>;
  applySubject(subject: Subject): void;
  /** Opens the event stream, where the page allows one. */
  updateLive(): void;
  /** The event of the first list or comment that is shown. */
  emitReady(): void;
}

export class RootList {
  readonly #thread: RootListHost;
  /** Null until a first page is shown. */
  first: ListPage | null = null;
  /** Null until it is loaded, where there are more pages. */
  #more: MoreRoots | null = null;
  /** Ends when another load begins. */
  #load = new AbortController();

  constructor(thread: RootListHost) {
    this.#thread = thread;
  }

  /** Whether a first page is shown. */
  get isLoaded(): boolean {
    return this.first !== null;
  }

  get isEnded(): boolean {
    return (this.#more ?? this.first)?.isEnded ?? false;
  }

  stop(): void {
    this.#load.abort();
  }

  /** Ends the load that is under way and begins another one. */
  async loadFirst({ pastCaches = false } = {}): Promise<void> {
    const { api, frame, sort, subject } = this.#thread;
    this.#load.abort();
    this.#load = new AbortController();
    const { signal } = this.#load;
    frame.next.onclick = () => this.loadFirst();
    this.first = null;
    this.#more = null;
    frame.showBusy(true);
    try {
      const before = this.#thread.loadBeforeFirst();
      const url = firstPageUrl(subject, sort);
      const page = pageOf(await api.read<Page>(url, { signal, pastCaches }));
      await this.#thread.comments.addPage(page);
      await before;
      if (signal.aborted) return;
      this.first = page;
      this.#showFirst(page);
    } catch (problem) {
      if (signal.aborted) return;
      await this.showLoadError(problem);
    }
    frame.showBusy(false);
  }

  /** Loads what loads the next pages. Where that is impossible, the button of the foot loads the list anew. */
  async #loadMore(first: ListPage): Promise<void> {
    const part = await import('./more-roots.ts').catch(() => null);
    // Another list may have come.
    if (first !== this.first) return;
    if (part) this.#more = new part.MoreRoots(this.#thread, this, first, this.#load.signal);
    else this.showLoadError(new ApiProblem({}));
  }

  #showFirst(page: ListPage): void {
    const { comments, frame, later, sort, sortBar } = this.#thread;
    comments.main.list.replaceChildren();
    comments.main.views.clear();
    sortBar.show(sort);
    if (page.subject) {
      this.#thread.applySubject(page.subject);
      for (const view of this.showRoots(page.subject.pinned)) view.setPinned();
    }
    this.showRoots(page.items);
    later?.onFirstList();
    frame.showStale(page.isStale);
    this.#thread.updateEmpty();
    if (!page.isEnded) this.#loadMore(page);
    frame.takeOver();
    this.#thread.emitReady();
    this.#thread.updateLive();
  }

  /** The views of those that were not in their place already. */
  showRoots(items: ListedComment[]): CommentView[] {
    const { comments } = this.#thread;
    return items.flatMap((comment) => {
      const placed = comments.place(comment, comments.main);
      comments.main.views.get(comment.id)?.showReplies(comment);
      return placed ?? [];
    });
  }

  async showLoadError(problem: unknown): Promise<void> {
    if (!(problem instanceof ApiProblem)) throw problem;
    const { frame, text } = this.#thread;
    this.#thread.emitProblem(problem);
    // Without an answer there are no other sentences either.
    const later = problem.status ? await this.#thread.complete().catch(() => null) : null;
    const sentence = later?.explainLoad(problem) ?? text.errors.network;
    frame.showLoadError(`${text.loadFailed} ${sentence}`, text.tryAgain);
  }
}
