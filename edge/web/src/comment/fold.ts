/**
 * Cuts a long text after some lines. Whether it is longer is measured once it is laid out; what shows the rest is loaded
 * with the first text that is.
 */

import type { Strings } from '../text/en.ts';
import type { FoldedText, Unfolding } from './unfold.ts';

/** Less HTML than this, with the element that holds it, fills no more lines than a folded text has. */
const MIN_FOLDED_LENGTH = 110;

export const FOLD_HTML = '<div class="fold"><div class="clip"></div></div>';

const folds = new WeakMap<Element, TextFold>();
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) folds.get(target)?.measure();
});

export class TextFold implements FoldedText {
  readonly node: HTMLElement;
  readonly clip: HTMLElement;
  readonly text: Strings;
  isUnfolded = false;
  isCut = false;
  #html = '';
  /** Null until a text is cut. */
  #unfolding: Unfolding | null = null;

  /** `node` is a copy of `FOLD_HTML`. */
  constructor(node: HTMLElement, text: Strings) {
    this.node = node;
    this.clip = node.firstElementChild as HTMLElement;
    this.text = text;
  }

  /** Shows this text; one that was unfolded stays so. The same text stays, with the reader's selection and focus in it. */
  show(body: HTMLElement): void {
    const html = body.outerHTML;
    if (html === this.#html) return;
    this.#html = html;
    this.clip.replaceChildren(body);
    const isLong = html.length >= MIN_FOLDED_LENGTH;
    this.clip.classList.toggle('foldable', isLong && !this.isUnfolded);
    this.#setCut(false);
    if (!isLong) return;
    folds.set(body, this);
    observer.observe(body);
  }

  measure(): void {
    const { clip, isUnfolded } = this;
    if (isUnfolded) return;
    this.#setCut((clip.firstElementChild as HTMLElement).offsetHeight > clip.clientHeight + 1);
  }

  /** A text stays whole where what shows the rest cannot be loaded. */
  async #setCut(isCut: boolean): Promise<void> {
    this.isCut = isCut;
    if (isCut && !this.#unfolding) {
      const part = await import('./unfold.ts').catch(() => null);
      if (part) this.#unfolding ??= new part.Unfolding(this);
      else this.clip.classList.remove('foldable');
    }
    this.#unfolding?.render();
  }
}
