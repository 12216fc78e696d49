/** The bar at the lower edge of the window that says what was done, and for some seconds takes it back. */

import { h } from '../dom/html.ts';
import type { Timer } from '../util/time.ts';

export interface UndoOffer {
  readonly sentence: string;
  readonly forMs: number;
  undo(): unknown;
  /** It was not undone in time, or the page is left. */
  settle?(): unknown;
  /** What had the focus is gone, so the bar gets it. */
  readonly takesFocus?: boolean;
  /** The bar goes, and had the focus. */
  returnFocus(): void;
}

export class UndoBar {
  readonly #section: HTMLElement;
  readonly #label: string;
  #offer: UndoOffer | null = null;
  #node: HTMLElement | null = null;
  #timer: Timer | undefined;
  readonly #onPageHide = () => this.#settle();

  constructor(section: HTMLElement, label: string) {
    this.#section = section;
    this.#label = label;
  }

  /** There is one at a time: the offer before it ends. */
  show(offer: UndoOffer): void {
    this.#settle();
    const button = h(
      'button',
      { type: 'button', class: 'link', on: { click: () => this.#undo() } },
      this.#label,
    );
    this.#offer = offer;
    this.#node = h(
      'div',
      {
        class: 'undo',
        part: 'undo',
        role: 'group',
        'aria-label': offer.sentence,
        popover: 'manual',
      },
      h('span', {}, offer.sentence),
      button,
    );
    this.#section.append(this.#node);
    this.#node.showPopover();
    if (offer.takesFocus) button.focus();
    this.#timer = setTimeout(() => this.#settle(), offer.forMs);
    window.addEventListener('pagehide', this.#onPageHide);
  }

  /** What was offered could not be done. */
  withdraw(offer: UndoOffer): void {
    if (this.#offer === offer) this.#close();
  }

  #undo(): void {
    this.#close()?.undo();
  }

  #settle(): void {
    this.#close()?.settle?.();
  }

  #close(): UndoOffer | null {
    const offer = this.#offer;
    clearTimeout(this.#timer);
    window.removeEventListener('pagehide', this.#onPageHide);
    const hadFocus = this.#node?.matches(':focus-within');
    this.#node?.remove();
    this.#node = null;
    this.#offer = null;
    if (hadFocus) offer?.returnFocus();
    return offer;
  }
}
