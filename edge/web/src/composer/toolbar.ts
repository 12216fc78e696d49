/** The buttons above the keyboard: one stop of the Tab key, and the arrow keys go from one to the next. */

import { h } from '../dom/html.ts';
import type { ComposerStrings } from '../text/composer.ts';
import { applyEdit, selectedIn } from './edit-text.ts';
import {
  asCode,
  asLink,
  prefixed,
  type SelectedText,
  type TextEdit,
  wrapped,
} from './text-edit.ts';
import { toolButton } from './tool-button.ts';

type FormatName = 'bold' | 'italic' | 'quote' | 'code' | 'link' | 'list';

interface Format {
  readonly path: string;
  /** With Ctrl, or ⌘ on a Mac. */
  readonly key?: string;
  readonly edit: (selected: SelectedText) => TextEdit;
}

const FORMATS: Readonly<Record<FormatName, Format>> = {
  bold: {
    path: 'M7 5h6a3.5 3.5 0 0 1 0 7H7zM7 12h7a3.5 3.5 0 0 1 0 7H7z',
    key: 'b',
    edit: (selected) => wrapped(selected, '**'),
  },
  italic: {
    path: 'M10 5h7M7 19h7M14 5l-4 14',
    key: 'i',
    edit: (selected) => wrapped(selected, '*'),
  },
  quote: {
    path: 'M10 7H5v6h5zM10 13c0 2.5-1.2 4-3.5 5M19 7h-5v6h5zM19 13c0 2.5-1.2 4-3.5 5',
    edit: (selected) => prefixed(selected, '> '),
  },
  code: { path: 'M8 7l-5 5 5 5M16 7l5 5-5 5', edit: asCode },
  link: {
    path: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.1M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.2-1.1',
    key: 'k',
    edit: asLink,
  },
  list: {
    path: 'M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01',
    edit: (selected) => prefixed(selected, '- '),
  },
};

/** Apple's keyboards have ⌘ where others have Ctrl, which moves the cursor there. */
const isMac = /^(Mac|iP)/.test(navigator.platform);

export class Toolbar {
  readonly node: HTMLDivElement;
  readonly #input: HTMLTextAreaElement;

  /** `others` stand behind the buttons that format. */
  constructor(input: HTMLTextAreaElement, text: ComposerStrings, others: HTMLButtonElement[]) {
    this.#input = input;
    const formats = Object.entries(FORMATS).map(([name, { path, key, edit }]) => {
      const shown = key ? `${isMac ? '⌘' : 'Ctrl+'}${key.toUpperCase()}` : '';
      const keys = key ? `${isMac ? 'Meta' : 'Control'}+${key.toUpperCase()}` : null;
      const button = toolButton(text[name as FormatName], path, () => this.#apply(edit), shown);
      if (keys) button.setAttribute('aria-keyshortcuts', keys);
      return button;
    });
    this.node = h(
      'div',
      {
        class: 'toolbar',
        role: 'toolbar',
        'aria-label': text.toolbar,
        on: { keydown: (event) => this.#onArrow(event) },
      },
      ...formats,
      ...others,
    );
    this.node.setAttribute('part', 'toolbar');
    this.#setStop(formats[0]);
    this.node.addEventListener('focusin', ({ target }) => this.#setStop(target as HTMLElement));
    input.addEventListener('keydown', (event) => this.#onShortcut(event));
    // A button that is gone is no stop.
    input.addEventListener('focus', () => {
      if (!this.#buttons.some(({ tabIndex }) => tabIndex === 0)) this.#setStop(this.#buttons[0]);
    });
  }

  #apply(edit: Format['edit']): void {
    applyEdit(this.#input, edit(selectedIn(this.#input)));
  }

  #onShortcut(event: KeyboardEvent): void {
    const { key, ctrlKey, metaKey, altKey, shiftKey, isComposing } = event;
    if (altKey || shiftKey || isComposing || (isMac ? ctrlKey || !metaKey : metaKey || !ctrlKey)) {
      return;
    }
    const format = Object.values(FORMATS).find((each) => each.key === key.toLowerCase());
    if (!format) return;
    event.preventDefault();
    this.#apply(format.edit);
  }

  get #buttons(): HTMLButtonElement[] {
    return [...this.node.querySelectorAll('button')].filter(({ hidden }) => !hidden);
  }

  #setStop(stop: HTMLElement | undefined): void {
    for (const button of this.node.querySelectorAll('button')) {
      button.tabIndex = button === stop ? 0 : -1;
    }
  }

  #onArrow(event: KeyboardEvent): void {
    const buttons = this.#buttons;
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    const next = buttons[nextOf(event, at, buttons.length)];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  }
}

/** The place that a key leads to in a row that begins again at its end; -1 where it leads nowhere. */
export function nextOf({ key, target }: KeyboardEvent, at: number, length: number): number {
  if (key === 'Home') return 0;
  if (key === 'End') return length - 1;
  if (key !== 'ArrowLeft' && key !== 'ArrowRight') return -1;
  const isRightToLeft = getComputedStyle(target as Element).direction === 'rtl';
  const step = (key === 'ArrowRight') === isRightToLeft ? -1 : 1;
  return (at + step + length) % length;
}
