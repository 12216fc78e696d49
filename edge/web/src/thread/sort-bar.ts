/** The choice of a sort: the usual ones as buttons, the others in a menu. */

import { ALL_SORTS, sortOf } from '../api/first-page.ts';
import type { Sort } from '../api/wire.ts';
import type { Strings } from '../text/en.ts';

const MIN_SORTED_COMMENTS = 5;
const BUTTON_SORTS = ALL_SORTS.slice(0, 4);
const MENU_SORTS = ALL_SORTS.slice(4);

const buttonHtml = (sort: Sort, text: Strings) =>
  `<button part="button" data-sort="${sort}">${text[sort]}</button>`;

export const sortBarHtml = (text: Strings): string =>
  `<div class="sorts" role="group" aria-label="${text.sortLabel}">` +
  BUTTON_SORTS.map((sort) => buttonHtml(sort, text)).join('') +
  `<select aria-label="${text.moreSorts}"><option value="" disabled hidden>${text.moreSorts}</option>` +
  MENU_SORTS.map((sort) => `<option value="${sort}">${text[sort]}</option>`).join('') +
  '</select></div>';

export class SortBar {
  readonly #node: HTMLElement;
  readonly #menu: HTMLSelectElement;
  #shown: Sort = ALL_SORTS[0];

  /** `node` is a copy of `sortBarHtml`. */
  constructor(node: HTMLElement, sort: Sort, choose: (sort: Sort) => void) {
    this.#node = node;
    this.#menu = node.querySelector('select') as HTMLSelectElement;
    node.onclick = ({ target }) => {
      const { sort: chosen } = (target as HTMLElement).dataset;
      if (chosen) choose(chosen as Sort);
    };
    // The menu shows what is in the list, as the buttons do.
    this.#menu.onchange = () => {
      const chosen = sortOf(this.#menu.value);
      this.show(this.#shown);
      choose(chosen);
    };
    this.show(sort);
  }

  /** A few comments need no order, unless the reader has chosen one. */
  hideFor(count: number): void {
    const isUsual = this.#shown === ALL_SORTS[0] && !this.#node.matches(':focus-within');
    this.#node.hidden = isUsual && count < MIN_SORTED_COMMENTS;
  }

  show(sort: Sort): void {
    this.#shown = sort;
    for (const button of this.#node.querySelectorAll('button')) {
      button.ariaPressed = String(button.dataset.sort === sort);
    }
    const isInMenu = MENU_SORTS.includes(sort);
    this.#menu.value = isInMenu ? sort : '';
    this.#menu.classList.toggle('on', isInMenu);
  }
}
