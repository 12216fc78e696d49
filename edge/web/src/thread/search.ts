/** The search in a thread: a field below the header, and what was found, each with a link to its place. */

import '../text/later.ts';
import { ApiProblem } from '../api/problem.ts';
import { type FoundComment, type FoundPage, searchThread } from '../api/search.ts';
import { closeOnEscape } from '../dom/escape.ts';
import { h } from '../dom/html.ts';
import { safeHtml } from '../dom/safe-html.ts';
import { authorNameOf } from '../model/shown-comment.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import css from '../style/search.css';
import { addStyles } from '../style/style-sheet.ts';
import { type ComposerStrings, composerText } from '../text/composer.ts';
import { describeProblem } from '../text/describe-problem.ts';
import { fullTime } from '../text/full-time.ts';
import type { Timer } from '../util/time.ts';

/** So long nothing is written before it is searched for. */
const PAUSE_MS = 400;
const MAX_QUERY_LENGTH = 100;
const FOUND_PER_PAGE = 20;
/** What a server answers that has no search. */
const NO_SEARCH: readonly number[] = [404, 501];

addStyles(css);

interface SearchHost extends ThreadContext {
  readonly frame: { readonly notice: HTMLElement };
}

const searches = new WeakMap<HTMLElement, ThreadSearch>();

/** Opens the search of a thread, or closes it. */
export function toggleSearch(thread: SearchHost, button: HTMLElement): void {
  const search = searches.get(button) ?? new ThreadSearch(thread, button);
  if (!searches.has(button)) thread.frame.notice.before(search.node);
  searches.set(button, search);
  search.toggle();
}

class ThreadSearch {
  readonly node: HTMLFormElement;
  readonly #thread: ThreadContext;
  readonly #text: ComposerStrings;
  readonly #button: HTMLElement;
  readonly #input: HTMLInputElement;
  readonly #list = h('ol', { class: 'found', role: 'list' });
  readonly #status = h('p', { class: 'hint', role: 'status' });
  readonly #error = h('p', { class: 'error', role: 'alert' });
  readonly #more: HTMLButtonElement;
  #load = new AbortController();
  #timer: Timer | undefined;
  #asked = '';
  #next: string | null = null;

  /** `button` opens it and closes it. */
  constructor(thread: ThreadContext, button: HTMLElement) {
    this.#thread = thread;
    this.#button = button;
    const { locale, text } = thread;
    this.#text = composerText(locale);
    this.#input = h('input', {
      type: 'search',
      maxlength: MAX_QUERY_LENGTH,
      'aria-label': this.#text.searchIn,
      placeholder: this.#text.searchIn,
      enterkeyhint: 'search',
      on: { input: () => this.#searchSoon() },
    });
    this.#more = h(
      'button',
      {
        type: 'button',
        class: 'link',
        hidden: true,
        on: { click: () => this.#search(this.#next) },
      },
      text.loadMore,
    );
    const close = h(
      'button',
      {
        type: 'button',
        class: 'link close',
        'aria-label': text.close,
        on: { click: () => this.close() },
      },
      '×',
    );
    this.node = h(
      'form',
      {
        class: 'search-form',
        role: 'search',
        'aria-label': this.#text.searchIn,
        on: {
          submit: (event) => {
            event.preventDefault();
            this.#search();
          },
        },
      },
      h('div', { class: 'search-field' }, this.#input, close),
      this.#error,
      this.#status,
      this.#list,
      this.#more,
    );
    closeOnEscape(this.node, () => this.close());
  }

  toggle(): void {
    if (this.#button.getAttribute('aria-expanded') === 'true') {
      this.close();
      return;
    }
    this.#button.setAttribute('aria-expanded', 'true');
    this.node.hidden = false;
    this.#input.focus();
  }

  /** What was found is there again when it is opened again. */
  close(): void {
    this.#button.setAttribute('aria-expanded', 'false');
    this.node.hidden = true;
    this.#button.focus();
  }

  #searchSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // A word that an input method is composing is none yet.
      if (this.#input.value.trim() !== this.#asked) this.#search();
    }, PAUSE_MS);
  }

  /** The first page, or the one of a cursor. */
  async #search(cursor: string | null = null): Promise<void> {
    clearTimeout(this.#timer);
    this.#load.abort();
    this.#load = new AbortController();
    const { signal } = this.#load;
    const q = cursor ? this.#asked : this.#input.value.trim();
    this.#asked = q;
    this.#error.textContent = '';
    if (!q) {
      this.#show({ data: [], page: { next: null, has_more: false } }, false);
      this.#status.textContent = '';
      return;
    }
    this.#list.setAttribute('aria-busy', 'true');
    try {
      const { api, subject } = this.#thread;
      const query = { q, limit: FOUND_PER_PAGE, ...(cursor && { cursor }) };
      const { data } = await searchThread(api, subject, query, signal);
      this.#show(data, cursor !== null);
    } catch (problem) {
      if (signal.aborted) return;
      this.#showProblem(problem);
    }
    this.#list.removeAttribute('aria-busy');
  }

  #show({ data, page }: FoundPage, isFurther: boolean): void {
    const items = data.map((comment) => this.#item(comment));
    if (isFurther) this.#list.append(...items);
    else this.#list.replaceChildren(...items);
    this.#next = page.has_more ? page.next : null;
    this.#more.hidden = this.#next === null;
    const count = this.#list.childElementCount;
    const { nothingFound, searchFound } = this.#text;
    this.#status.textContent = count > 0 || this.#next ? searchFound(count) : nothingFound;
    if (isFurther) items[0]?.querySelector('a')?.focus();
  }

  #item(comment: FoundComment): HTMLLIElement {
    const { locale } = this.#thread;
    const { id, created_at, highlight } = comment;
    const passage = h('span', { class: 'passage', dir: 'auto' });
    passage.append(safeHtml(highlight));
    const at = new Date(created_at);
    return h(
      'li',
      {},
      h(
        'a',
        { href: `#comment-${id}` },
        h('bdi', { class: 'by' }, authorNameOf(comment, locale)),
        ' ',
        h(
          'time',
          { datetime: at.toISOString(), title: fullTime(locale, at.toISOString()) },
          locale.timeAgo(created_at),
        ),
        passage,
      ),
    );
  }

  #showProblem(problem: unknown): void {
    if (!(problem instanceof ApiProblem)) throw problem;
    const { locale } = this.#thread;
    this.#list.replaceChildren();
    this.#more.hidden = true;
    this.#status.textContent = '';
    const hasSearch = !NO_SEARCH.includes(problem.status);
    const isLeftOut = !hasSearch || problem.status === 503;
    const details = problem.code === 'invalid_request' ? problem.errors : [];
    this.#error.textContent = [
      isLeftOut ? this.#text.noSearch : describeProblem(locale, problem),
      ...details.map(({ detail }) => detail),
    ].join(' ');
    // There is no use in opening it again.
    this.#button.hidden = !hasSearch;
  }
}
