/**
 * The DOM around the comments of a thread: heading, notes, the list and its foot. It knows what is
 * visible, not why.
 */

import { h, icon, SEARCH_PATH, screenReaderText, uniqueId } from '../dom/html.ts';
import { SERVED_SELECTOR } from '../dom/served.ts';
import type { Locale } from '../text/locale.ts';

/** A screen reader speaks only what changes after the region was emptied. */
const ANNOUNCE_DELAY_MS = 50;

export interface FrameParts {
  sorts: HTMLElement;
  composer: HTMLElement;
  /** Gets the button that was pressed. */
  onSearch: (button: HTMLElement) => void;
  onFootButton: () => void;
}

export class ThreadFrame {
  readonly section: HTMLElement;
  readonly list = h('ol', { class: 'list', role: 'list' });
  readonly notice = h('p', { class: 'note', role: 'status', hidden: true });
  readonly empty: HTMLParagraphElement;
  readonly foot: HTMLDivElement;
  readonly footError = h('p', { class: 'error', role: 'alert' });
  readonly footButton: HTMLButtonElement;
  readonly heading: HTMLHeadingElement;
  readonly bellPlace = h('span');
  /** The form at the top. */
  readonly composer: HTMLElement;
  readonly #element: HTMLElement;
  readonly #staleNote: HTMLParagraphElement;
  readonly #skeleton: HTMLDivElement;
  readonly #announcer = h('p', { class: 'sr', 'aria-live': 'polite' });
  /** Shows what the server rendered until the comments are loaded; null from then on. */
  #served: HTMLSlotElement | null;

  constructor(element: HTMLElement, root: ShadowRoot, locale: Locale, parts: FrameParts) {
    const { text } = locale;
    this.#element = element;
    this.composer = parts.composer;
    this.heading = h('h2', { id: uniqueId('title') }, text.titleNone);
    this.#staleNote = h('p', { class: 'note', role: 'status', hidden: true }, text.stale);
    this.empty = h('p', { class: 'empty', hidden: true }, text.empty);
    this.#skeleton = h(
      'div',
      { class: 'skeleton', role: 'status' },
      screenReaderText(text.loading),
      h('div'),
      h('div'),
      h('div'),
    );
    this.footButton = h('button', {
      type: 'button',
      class: 'button',
      hidden: true,
      on: { click: parts.onFootButton },
    });
    this.foot = h('div', { class: 'foot' }, this.footError, this.footButton);
    const search: HTMLButtonElement = h(
      'button',
      {
        type: 'button',
        class: 'act search',
        'aria-label': text.search,
        'aria-expanded': 'false',
        on: { click: () => parts.onSearch(search) },
      },
      icon(SEARCH_PATH),
    );
    this.section = h(
      'section',
      {
        'aria-labelledby': this.heading.id,
        lang: locale.tag,
        dir: locale.direction,
        hidden: Boolean(element.querySelector(SERVED_SELECTOR)),
      },
      h('div', { class: 'top' }, this.heading, search, this.bellPlace, parts.sorts),
      this.#staleNote,
      this.notice,
      parts.composer,
      this.list,
      this.empty,
      this.#skeleton,
      this.foot,
      this.#announcer,
    );
    this.section.style.fontFamily = locale.fonts;
    this.#served = h('slot');
    root.replaceChildren(this.section, this.#served);
  }

  /** Takes the place of what the server rendered, as high as that was. */
  takeOver(): void {
    if (!this.#served) return;
    const served = this.#element.querySelector(SERVED_SELECTOR);
    if (served) {
      this.#element.style.minHeight = `${this.#element.getBoundingClientRect().height}px`;
    }
    this.section.hidden = false;
    this.#served.remove();
    this.#served = null;
    // Its ids are the page's again.
    served?.remove();
  }

  /** The height of what the server rendered is needed for the first list only. */
  releaseHeight(): void {
    if (!this.#served) this.#element.style.minHeight = '';
  }

  showBusy(isBusy: boolean, hasComments: boolean): void {
    this.#skeleton.hidden = !isBusy || hasComments;
    this.list.classList.toggle('busy', isBusy);
    this.list.setAttribute('aria-busy', String(isBusy));
    if (!isBusy) return;
    this.empty.hidden = true;
    this.footError.textContent = '';
    this.footButton.hidden = true;
  }

  /** The list could not be loaded. What the server rendered stays, below the sentence. */
  showLoadError(sentence: string, tryAgain: string): void {
    this.section.hidden = false;
    this.footError.textContent = sentence;
    this.footButton.textContent = tryAgain;
    this.footButton.hidden = false;
  }

  showStale(isStale: boolean): void {
    this.#staleNote.hidden = !isStale;
  }

  /** An empty text hides the notice. */
  showNotice(sentence: string): void {
    this.notice.textContent = sentence;
    this.notice.hidden = !sentence;
  }

  announce(message: string): void {
    this.#announcer.textContent = '';
    setTimeout(() => {
      this.#announcer.textContent = message;
    }, ANNOUNCE_DELAY_MS);
  }

  updateTimes(locale: Locale): void {
    for (const time of this.section.querySelectorAll('time')) {
      time.textContent = locale.timeAgo(Date.parse(time.dateTime));
    }
  }
}
