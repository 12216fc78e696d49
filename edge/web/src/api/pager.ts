/** Follows the cursors of one list and gives each comment once, whatever the cursors go through. */

import type { ListQuery, ReadOptions } from './client.ts';
import { type ListPage, pageOf } from './list-page.ts';
import { ApiProblem } from './problem.ts';
import type { ApiAnswer } from './transport.ts';
import type { Page } from './wire.ts';

export type { ListPage } from './list-page.ts';

/** So many pages without anything new are followed before the reader is asked to go on. */
const MAX_EMPTY_PAGES = 10;
/** The contract's largest page. A list that starts again has mostly been shown already. */
const RESTART_LIMIT = 100;

type FetchPage = (query: ListQuery, options: ReadOptions) => Promise<ApiAnswer<Page>>;

/** There was nothing left to fetch. */
const NOTHING = {
  subject: null,
  floors: null,
  epoch: 0,
  isStale: false,
  next: null,
  isEnded: true,
};

export class ListPager {
  /** The ids of everything it gave. */
  readonly seen = new Set<string>();
  isStarted = false;
  isEnded = false;
  readonly #fetchPage: FetchPage;
  #query: ListQuery;
  #cursor: string | null = null;

  /** `first` is the first page where it is there already. */
  constructor(fetchPage: FetchPage, query: ListQuery, first?: ListPage) {
    this.#fetchPage = fetchPage;
    this.#query = query;
    if (first) this.#take(first);
  }

  /** The next page with something new, else the last one; it may be empty while there is more. */
  async next(options: ReadOptions = {}): Promise<ListPage> {
    let page: ListPage | null = null;
    for (let pages = 0; pages < MAX_EMPTY_PAGES && !this.isEnded; pages += 1) {
      page = await this.#nextPage(options);
      if (page.items.length > 0) break;
    }
    return page ?? { ...NOTHING, items: [] };
  }

  async #nextPage(options: ReadOptions): Promise<ListPage> {
    return this.#take(pageOf(await this.#fetch(options)));
  }

  /** The page without what was given before. */
  #take(page: ListPage): ListPage {
    this.#cursor = page.next;
    this.isStarted = true;
    this.isEnded = !page.next;
    const items = page.items.filter((comment) => !this.seen.has(comment.id));
    for (const comment of items) this.seen.add(comment.id);
    return { ...page, items };
  }

  async #fetch(options: ReadOptions): Promise<ApiAnswer<Page>> {
    if (!this.#cursor) return this.#fetchPage(this.#query, options);
    try {
      return await this.#fetchPage({ ...this.#query, cursor: this.#cursor }, options);
    } catch (problem) {
      if (!isCursorRefused(problem)) throw problem;
      // The snapshot of the cursor is gone: once more from the top, past every cache.
      this.#cursor = null;
      this.#query = { ...this.#query, limit: RESTART_LIMIT };
      return this.#fetchPage(this.#query, { ...options, pastCaches: true });
    }
  }
}

function isCursorRefused(problem: unknown): boolean {
  return problem instanceof ApiProblem && ['cursor_expired', 'bad_cursor'].includes(problem.code);
}
