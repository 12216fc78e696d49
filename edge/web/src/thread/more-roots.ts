/** The next pages of a list, each when the foot comes near. It is loaded with a first page that is not the last one. */

import '../text/later.ts';
import { ROOTS_PER_PAGE } from '../api/first-page.ts';
import { type ListPage, ListPager } from '../api/pager.ts';
import { listRoots } from '../api/place-calls.ts';
import type { ListedComment, Sort } from '../api/wire.ts';
import type { CommentView } from '../comment/view.ts';
import { announce } from '../dom/announce.ts';
import css from '../style/long-list.css';
import { addStyles } from '../style/style-sheet.ts';
import type { LaterParts } from './later-parts.ts';
import type { ThreadPartHost } from './part-host.ts';
import { keepPlace, returnToPlace } from './return-place.ts';

interface MoreRootsHost extends Omit<ThreadPartHost, 'recent'> {
  readonly later: LaterParts | null;
  readonly sort: Sort;
}

interface FirstRoots {
  readonly first: ListPage | null;
  /** The views of those that were not in their place already. */
  showRoots(items: ListedComment[]): CommentView[];
  showLoadError(problem: unknown): Promise<void>;
}

/** The next page is fetched when the foot is so near to the window. */
const FOOT_MARGIN = '600px';

addStyles(css);

export class MoreRoots {
  readonly #thread: MoreRootsHost;
  readonly #list: FirstRoots;
  readonly #first: ListPage;
  readonly #pager: ListPager;
  readonly #signal: AbortSignal;
  /** Infinite scroll. The button of the foot stays for the keyboard, and after an error. */
  readonly #observer = new IntersectionObserver(
    (entries) => {
      const isNear = entries.some((entry) => entry.isIntersecting);
      if (isNear && !this.#thread.frame.error.textContent) this.loadNext();
    },
    { rootMargin: FOOT_MARGIN },
  );
  #isLoading = false;

  /** The list has shown the page `first`; `signal` ends with it. */
  constructor(thread: MoreRootsHost, list: FirstRoots, first: ListPage, signal: AbortSignal) {
    const { api, sort, subject } = thread;
    this.#thread = thread;
    this.#list = list;
    this.#first = first;
    this.#signal = signal;
    this.#pager = new ListPager(
      (query, options) => listRoots(api, subject, query, options),
      { sort, limit: ROOTS_PER_PAGE },
      first,
    );
    const { foot, next } = thread.frame;
    next.textContent = thread.text.loadMore;
    next.onclick = () => this.loadNext({ byButton: true });
    next.hidden = false;
    this.#observer.observe(foot);
    signal.addEventListener('abort', () => this.#observer.disconnect());
    keepPlace(thread, signal);
    returnToPlace(thread, this, signal);
  }

  get isEnded(): boolean {
    return this.#pager.isEnded;
  }

  /** `byButton` moves the focus to the first new comment. */
  async loadNext({ byButton = false } = {}): Promise<void> {
    const { comments, frame } = this.#thread;
    if (this.isEnded || this.#isLoading) return;
    this.#isLoading = true;
    frame.error.textContent = '';
    frame.next.setAttribute('aria-disabled', 'true');
    try {
      const page = await this.#pager.next({ signal: this.#signal });
      await comments.addPage(page);
      if (this.#isCurrent) this.#show(page, byButton);
    } catch (problem) {
      if (this.#isCurrent && !this.#signal.aborted) await this.#list.showLoadError(problem);
    } finally {
      this.#isLoading = false;
      frame.next.removeAttribute('aria-disabled');
    }
  }

  /** Whether no other list has taken the place of this one. */
  get #isCurrent(): boolean {
    return this.#first === this.#list.first;
  }

  #show(page: ListPage, byButton: boolean): void {
    const { frame, later, text } = this.#thread;
    const views = this.#list.showRoots(page.items);
    frame.next.textContent = text.loadMore;
    if (page.subject) this.#thread.setCount(page.subject.comments);
    frame.showStale(page.isStale);
    frame.next.hidden = this.isEnded;
    this.#thread.updateEmpty();
    // A foot that stays inside the window is reported again only when it is observed again.
    this.#observer.unobserve(frame.foot);
    this.#observer.observe(frame.foot);
    if (views.length > 0) announce(frame, text.commentsLoaded(views.length));
    if (byButton) views[0]?.focus();
    later?.reader.loadOverlay(
      page.items.flatMap(({ id, top_replies }) => [
        id,
        ...(top_replies ?? []).map((each) => each.id),
      ]),
    );
  }
}
