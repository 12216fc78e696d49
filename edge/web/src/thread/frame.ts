/**
 * The DOM around the comments of a thread: heading, notes, the list and its foot. It knows what is
 * visible, not why.
 */

import { SHELL_HTML } from '../composer/shell.ts';
import { SERVED_SELECTOR } from '../dom/served.ts';
import { iconHtml, partsOf, template } from '../dom/template.ts';
import type { Strings } from '../text/en.ts';
import type { Locale } from '../text/locale.ts';
import { sortBarHtml } from './sort-bar.ts';

const SEARCH_PATH = 'M16 16l5 5M10.5 18a7.5 7.5 0 1 1 .01 0z';

const frameHtml = (text: Strings) =>
  '<section part="thread" aria-labelledby="title"><div class="top" part="header">' +
  `<h2 class="heading" id="title">${text.titleNone}</h2>` +
  `<button class="search act" aria-label="${text.search}" aria-expanded="false">` +
  `${iconHtml(SEARCH_PATH)}</button><span class="corner"></span>${sortBarHtml(text)}</div>` +
  `<p class="stale note" part="notice" role="status" hidden>${text.stale}</p>` +
  '<p class="notice note" part="notice" role="status" hidden></p>' +
  SHELL_HTML +
  `<ol class="list" role="list"></ol><p class="empty" hidden>${text.empty}</p>` +
  `<div class="skeleton" role="status"><span class="sr">${text.loading}</span>` +
  '<div></div><div></div><div></div></div>' +
  '<div class="foot"><p class="error" role="alert"></p>' +
  '<button class="next button" part="button" hidden></button></div>' +
  '<p class="announcer sr" aria-live="polite"></p></section>';

export class ThreadFrame {
  readonly section: HTMLElement;
  // The parts of its template.
  declare readonly heading: HTMLElement;
  declare readonly search: HTMLButtonElement;
  /** Beside the heading. */
  declare readonly corner: HTMLElement;
  declare readonly sorts: HTMLElement;
  declare readonly stale: HTMLElement;
  declare readonly notice: HTMLElement;
  /** The form at the top. */
  declare readonly composer: HTMLFormElement;
  declare readonly list: HTMLOListElement;
  declare readonly empty: HTMLElement;
  declare readonly skeleton: HTMLElement;
  declare readonly foot: HTMLElement;
  declare readonly error: HTMLElement;
  /** Asks for the next page, or for the first one again. */
  declare readonly next: HTMLButtonElement;
  declare readonly announcer: HTMLElement;
  readonly #element: HTMLElement;
  readonly #locale: Locale;
  /** Shows what the server rendered until the comments are loaded; null from then on. */
  #served: HTMLElement | null;

  constructor(element: HTMLElement, root: ShadowRoot, locale: Locale) {
    this.#element = element;
    this.#locale = locale;
    const section = template(frameHtml(locale.text))();
    this.section = section;
    Object.assign(this, partsOf(section));
    section.lang = locale.tag;
    section.dir = locale.direction;
    section.style.fontFamily = locale.fonts;
    section.hidden = Boolean(element.querySelector(SERVED_SELECTOR));
    // What stands below is out of the window until the comments are there. The page has kept the room until now. A frame in
    // another page may be as high as what is in it, and would grow without end.
    if (!section.hidden && parent === window) section.style.minHeight = '100vh';
    element.style.minHeight = '';
    this.#served = document.createElement('slot');
    root.replaceChildren(section, this.#served);
  }

  /** Takes the place of what was there. What stands below it in the window, or right below the window, does not move. */
  takeOver(): void {
    if (!this.#served) return;
    const { top, height } = this.#element.getBoundingClientRect();
    this.section.style.minHeight = `min(${height}px, 100vh - ${top}px)`;
    this.section.hidden = false;
    this.#served.remove();
    this.#served = null;
    // Its ids are the page's again.
    this.#element.querySelector(SERVED_SELECTOR)?.remove();
  }

  showBusy(isBusy: boolean): void {
    this.skeleton.hidden = !isBusy || this.list.childElementCount > 0;
    this.list.ariaBusy = String(isBusy);
    if (!isBusy) return;
    this.empty.hidden = true;
    this.error.textContent = '';
    this.next.hidden = true;
  }

  /** The list could not be loaded. What the server rendered stays, below the sentence. */
  showLoadError(sentence: string, tryAgain: string): void {
    this.section.hidden = false;
    this.error.textContent = sentence;
    this.next.textContent = tryAgain;
    this.next.hidden = false;
  }

  showStale(isStale: boolean): void {
    this.stale.hidden = !isStale;
  }

  /** An empty text hides the notice. */
  showNotice(sentence: string): void {
    this.notice.textContent = sentence;
    this.notice.hidden = !sentence;
  }

  updateTimes(): void {
    for (const time of this.section.querySelectorAll('time')) {
      time.textContent = this.#locale.timeAgo(Date.parse(time.dateTime));
    }
  }
}
