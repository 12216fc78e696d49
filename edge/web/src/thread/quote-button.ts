/** A button below a selection in a comment: it begins an answer with what is selected. */

import { h } from '../dom/html.ts';
import { rememberSelection, selectedRange } from '../dom/selection.ts';
import css from '../style/quote.css';
import { addStyles } from '../style/style-sheet.ts';
import { composerText } from '../text/composer.ts';
import type { Timer } from '../util/time.ts';
import type { ThreadPartHost } from './part-host.ts';

/** A selection that is being drawn changes all the time. */
const PAUSE_MS = 150;

addStyles(css);

export class QuoteButton {
  readonly #section: HTMLElement;
  readonly #button: HTMLButtonElement;
  #reply: HTMLElement | null = null;
  #timer: Timer | undefined;

  constructor({ frame, locale }: ThreadPartHost) {
    this.#section = frame.section;
    this.#button = h(
      'button',
      {
        type: 'button',
        class: 'button quote-selection',
        // The same is done by the keyboard with the button that replies.
        tabindex: -1,
        hidden: true,
        on: {
          mousedown: (event) => event.preventDefault(),
          click: () => this.#press(),
        },
      },
      composerText(locale).quote,
    );
    this.#section.append(this.#button);
    const onChange = () => {
      if (!this.#section.isConnected) {
        document.removeEventListener('selectionchange', onChange);
        return;
      }
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#update(), PAUSE_MS);
    };
    document.addEventListener('selectionchange', onChange);
    // What was selected while it was on its way.
    onChange();
  }

  #press(): void {
    this.#button.hidden = true;
    this.#reply?.click();
  }

  #update(): void {
    const root = this.#section.getRootNode();
    const selected = root instanceof ShadowRoot ? selectedRange(root) : null;
    const body = selected && bodyAround(selected.range);
    rememberSelection(body, selected?.text ?? '');
    // What is quoted in a building is answered there.
    const reply = body?.closest('.bld')
      ? null
      : body?.closest('article')?.querySelector<HTMLElement>('.actions .reply:not([hidden])');
    this.#reply = reply ?? null;
    this.#button.hidden = !selected || !reply;
    if (selected && reply) this.#place(selected.range);
  }

  /** Below the end of the selection. */
  #place({ startContainer, startOffset, endContainer, endOffset }: AbstractRange): void {
    const range = document.createRange();
    range.setStart(startContainer, startOffset);
    range.setEnd(endContainer, endOffset);
    const last = [...range.getClientRects()].at(-1) ?? range.getBoundingClientRect();
    const section = this.#section.getBoundingClientRect();
    const { style, offsetWidth } = this.#button;
    const left = Math.min(last.right - section.left, section.width - offsetWidth);
    style.left = `${Math.max(0, left)}px`;
    style.top = `${last.bottom - section.top + 4}px`;
  }
}

/** The text of a comment that the whole range is in. */
function bodyAround({ startContainer, endContainer }: AbstractRange): HTMLElement | null {
  const start = startContainer instanceof Element ? startContainer : startContainer.parentElement;
  const body = start?.closest<HTMLElement>('article .body');
  return body?.contains(endContainer) && !body.closest('form') ? body : null;
}
