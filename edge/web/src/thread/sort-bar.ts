/** The choice of a sort: the usual ones as buttons, the others in a menu. */

import type { Sort } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { Strings } from '../text/en.ts';

const BUTTON_SORTS: readonly Sort[] = ['hot', 'new', 'old', 'top'];
const MENU_SORTS: readonly Sort[] = ['best', 'replies', 'controversial'];

/** The sort of this name; null for anything else. */
export function parseSort(name: string | null): Sort | null {
  return [...BUTTON_SORTS, ...MENU_SORTS].find((sort) => sort === name) ?? null;
}

export class SortBar {
  readonly node: HTMLDivElement;
  readonly #buttons: HTMLButtonElement[];
  readonly #menu: HTMLSelectElement;

  constructor(text: Strings, sort: Sort, choose: (name: string) => void) {
    this.#buttons = BUTTON_SORTS.map((each) =>
      h(
        'button',
        { type: 'button', 'data-sort': each, on: { click: () => choose(each) } },
        text[each],
      ),
    );
    this.#menu = h(
      'select',
      { 'aria-label': text.moreSorts, on: { change: () => choose(this.#menu.value) } },
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

  show(sort: Sort): void {
    for (const button of this.#buttons) {
      button.setAttribute('aria-pressed', String(button.dataset.sort === sort));
    }
    const isInMenu = MENU_SORTS.includes(sort);
    this.#menu.value = isInMenu ? sort : '';
    this.#menu.classList.toggle('on', isInMenu);
  }
}
