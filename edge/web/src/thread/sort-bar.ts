/** The choice of a sort: the usual ones as buttons, the others in a menu. */

import { ALL_SORTS, sortOf } from '../api/first-page.ts';
import type { Sort } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { Strings } from '../text/en.ts';

const MIN_SORTED_COMMENTS = 5;
const BUTTON_SORTS = ALL_SORTS.slice(0, 4);
const MENU_SORTS = ALL_SORTS.slice(4);

export class SortBar {
  readonly node: HTMLDivElement;
  readonly #buttons: HTMLButtonElement[];
  readonly #menu: HTMLSelectElement;
  #shown: Sort;

  constructor(text: Strings, sort: Sort, choose: (sort: Sort) => void) {
    this.#shown = sort;
    this.#buttons = BUTTON_SORTS.map((each) =>
      h(
        'button',
        { type: 'button', 'data-sort': each, on: { click: () => choose(each) } },
        text[each],
      ),
    );
    this.#menu = h(
      'select',
      { 'aria-label': text.moreSorts, on: { change: () => this.#onMenu(choose) } },
      h('option', { value: '', disabled: true, hidden: true }, text.moreSorts),
      ...MENU_SORTS.map((each) => h('option', { value: each }, text[each])),
    );
    this.node = h(
      'div',
      { class: 'sorts', role: 'group', 'aria-label': text.sortLabel },
      ...this.#buttons,
      this.#menu,
    );
    this.show(sort);
  }

  /** The menu shows what is in the list, as the buttons do. */
  #onMenu(choose: (sort: Sort) => void): void {
    const sort = sortOf(this.#menu.value);
    this.show(this.#shown);
    choose(sort);
  }

  /** A few comments need no order, unless the reader has chosen one. */
  hideFor(count: number): void {
    const isUsual = this.#shown === ALL_SORTS[0] && !this.node.matches(':focus-within');
    this.node.hidden = isUsual && count < MIN_SORTED_COMMENTS;
  }

  show(sort: Sort): void {
    this.#shown = sort;
    for (const button of this.#buttons) {
      button.setAttribute('aria-pressed', String(button.dataset.sort === sort));
    }
    const isInMenu = MENU_SORTS.includes(sort);
    this.#menu.value = isInMenu ? sort : '';
    this.#menu.classList.toggle('on', isInMenu);
  }
}
