/** The window with emoji and stickers under the toolbar: a search, and a grid that the arrow keys go through. */

import { type Emoji, type EmojiGroup, loadPacks } from '../body/owo.ts';
import { closeOnEscape } from '../dom/escape.ts';
import { h } from '../dom/html.ts';
import { uniqueId } from '../dom/template.ts';
import css from '../style/emoji.css';
import { addStyles } from '../style/style-sheet.ts';
import { type ComposerStrings, composerText } from '../text/composer.ts';
import type { Locale } from '../text/locale.ts';
import { EMOJI } from './emoji.ts';

const COLUMNS = 8;

addStyles(css);

interface PickerHost {
  /** The address of more emoji; null where there are none. */
  packs(): string | null;
  onPick(emoji: string): void;
  /** `isLeft` when the focus was in it: it has to go somewhere. */
  onClose(isLeft: boolean): void;
}

export class EmojiPicker {
  readonly node: HTMLDivElement;
  readonly #host: PickerHost;
  readonly #text: ComposerStrings;
  readonly #search: HTMLInputElement;
  readonly #grid: HTMLDivElement;
  readonly #status = h('p', { class: 'hint', role: 'status' });
  #groups: EmojiGroup[];
  #hasAskedForPacks = false;

  constructor(locale: Locale, host: PickerHost) {
    this.#host = host;
    this.#text = composerText(locale);
    this.#groups = builtInGroups(this.#text);
    this.#search = h('input', {
      type: 'search',
      'aria-label': this.#text.searchEmoji,
      placeholder: this.#text.searchEmoji,
      on: { input: () => this.#draw(), keydown: (event) => this.#onSearchKey(event) },
    });
    this.#grid = h('div', {
      class: 'emoji-grid',
      role: 'grid',
      'aria-label': this.#text.emoji,
      on: {
        keydown: (event) => this.#onGridKey(event),
        focusin: ({ target }) => this.#setStop(target as HTMLElement),
      },
    });
    this.node = h(
      'div',
      { class: 'emoji-picker', role: 'dialog', 'aria-label': this.#text.emoji, hidden: true },
      this.#search,
      this.#grid,
      this.#status,
    );
    closeOnEscape(this.node, () => this.#leave());
    // Letters are for the search, and no commands of the page.
    this.node.addEventListener('keydown', (event) => event.stopPropagation());
    this.node.addEventListener('focusout', ({ relatedTarget }) => {
      // A press on the button closes it by itself.
      const next = relatedTarget as Node | null;
      if (!next || this.node.parentElement?.contains(next)) return;
      this.node.hidden = true;
      this.#host.onClose(false);
    });
  }

  /** Whether it is open now. */
  toggle(): boolean {
    if (!this.node.hidden) {
      this.#leave();
      return false;
    }
    this.node.hidden = false;
    this.#search.value = '';
    this.#draw();
    this.#search.focus();
    this.#loadPacks();
    return true;
  }

  #leave(): void {
    this.node.hidden = true;
    this.#host.onClose(true);
  }

  #pick(emoji: string): void {
    this.#leave();
    this.#host.onPick(emoji);
  }

  async #loadPacks(): Promise<void> {
    const address = this.#host.packs();
    if (!address || this.#hasAskedForPacks) return;
    this.#hasAskedForPacks = true;
    try {
      const groups = await loadPacks(address);
      this.#groups = [...this.#groups, ...groups];
      // What is drawn stays: the focus may be in it.
      this.#append(groups);
    } catch {
      // The page's own emoji are an addition: those that are here stay.
      this.#hasAskedForPacks = false;
    }
  }

  #draw(): void {
    this.#grid.replaceChildren();
    this.#append(this.#groups);
  }

  /** Draws what the search finds in these groups below what is drawn. */
  #append(groups: readonly EmojiGroup[]): void {
    const wanted = this.#search.value.trim().toLowerCase();
    for (const { name, emoji } of groups) {
      const found = emoji.filter(({ value, words }) =>
        `${value} ${words}`.toLowerCase().includes(wanted),
      );
      if (found.length > 0) this.#grid.append(this.#drawGroup({ name, emoji: found }));
    }
    const first = this.#grid.querySelector('button');
    this.#grid.hidden = !first;
    this.#status.textContent = first ? '' : this.#text.nothingFound;
    if (first && !this.#grid.querySelector('button[tabindex="0"]')) this.#setStop(first);
  }

  #drawGroup({ name, emoji }: EmojiGroup): HTMLElement {
    const heading = h('div', { class: 'emoji-name', id: uniqueId('emoji'), role: 'presentation' });
    heading.textContent = name;
    const rows: HTMLElement[] = [];
    for (let at = 0; at < emoji.length; at += COLUMNS) {
      const cells = emoji.slice(at, at + COLUMNS).map((each) => this.#drawEmoji(each));
      rows.push(h('div', { class: 'emoji-row', role: 'row' }, ...cells));
    }
    return h(
      'div',
      { role: 'rowgroup', 'aria-labelledby': heading.id },
      h('div', { role: 'row' }, h('span', { role: 'gridcell' }, heading)),
      ...rows,
    );
  }

  #drawEmoji({ value, words, picture }: Emoji): HTMLElement {
    const [title = ''] = words.split(' ');
    const shown = picture
      ? h('img', { alt: '', loading: 'lazy', referrerpolicy: 'no-referrer', src: picture })
      : value;
    const button = h(
      'button',
      {
        type: 'button',
        tabindex: -1,
        title: words || value,
        'aria-label': title ? `${value} ${title}` : value,
        on: { click: () => this.#pick(value) },
      },
      shown,
    );
    const isWide = !picture && value.length > 4;
    return h('span', { role: 'gridcell', class: isWide ? 'wide' : null }, button);
  }

  #setStop(stop: HTMLElement): void {
    for (const button of this.#grid.querySelectorAll('button')) {
      button.tabIndex = button === stop ? 0 : -1;
    }
  }

  #onSearchKey(event: KeyboardEvent): void {
    const { key, isComposing } = event;
    if (isComposing) return;
    const first = this.#grid.querySelector('button');
    if (key === 'ArrowDown') first?.focus();
    else if (key === 'Enter') first?.click();
    else return;
    // Enter would send the form.
    event.preventDefault();
  }

  #onGridKey(event: KeyboardEvent): void {
    const rows = [...this.#grid.querySelectorAll('.emoji-row')].map((row) => [
      ...row.querySelectorAll('button'),
    ]);
    const row = rows.findIndex((each) => each.includes(event.target as HTMLButtonElement));
    if (row < 0) return;
    const column = rows[row]?.indexOf(event.target as HTMLButtonElement) ?? 0;
    const next = neighbourOf(rows, row, column, event);
    if (next === null) return;
    event.preventDefault();
    if (next) next.focus();
    else this.#search.focus();
  }
}

/** The button that an arrow leads to; undefined above the first row, and null for other keys. */
function neighbourOf(
  rows: HTMLButtonElement[][],
  row: number,
  column: number,
  { key, target }: KeyboardEvent,
): HTMLButtonElement | undefined | null {
  const all = rows.flat();
  const at = all.indexOf(target as HTMLButtonElement);
  const isRightToLeft = getComputedStyle(target as Element).direction === 'rtl';
  const step = isRightToLeft ? -1 : 1;
  const inRow = (cells: HTMLButtonElement[] | undefined) => cells?.[column] ?? cells?.at(-1);
  switch (key) {
    case 'ArrowRight':
      return all[at + step] ?? null;
    case 'ArrowLeft':
      return all[at - step] ?? null;
    case 'ArrowDown':
      return inRow(rows[row + 1]) ?? null;
    case 'ArrowUp':
      return row === 0 ? undefined : inRow(rows[row - 1]);
    case 'Home':
      return rows[row]?.[0] ?? null;
    case 'End':
      return rows[row]?.at(-1) ?? null;
    default:
      return null;
  }
}

function builtInGroups(text: ComposerStrings): EmojiGroup[] {
  return Object.entries(EMOJI).map(([group, lines]) => ({
    name: text.emojiGroups[group as keyof typeof EMOJI],
    emoji: lines.split('\n').map((line) => {
      const space = line.indexOf(' ');
      return { value: line.slice(0, space), words: line.slice(space + 1) };
    }),
  }));
}
