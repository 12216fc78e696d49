/** The button below a text that is cut. It is loaded with the first of them. */

import '../text/later.ts';
import { h } from '../dom/html.ts';
import { addStyles } from '../style/style-sheet.ts';
import css from '../style/unfold.css';
import type { Strings } from '../text/en.ts';

addStyles(css);

export interface FoldedText {
  readonly text: Strings;
  /** Around the text. */
  readonly clip: HTMLElement;
  isCut: boolean;
  isUnfolded: boolean;
}

export class Unfolding {
  readonly #fold: FoldedText;
  readonly #button = h('button', {
    type: 'button',
    class: 'unfold link',
    tabindex: -1,
    on: { click: () => this.#setUnfolded(!this.#fold.isUnfolded) },
  });

  constructor(fold: FoldedText) {
    this.#fold = fold;
    fold.clip.after(this.#button);
    // A link in the folded part gets the focus.
    fold.clip.addEventListener('focusin', () => {
      if (fold.isCut) this.#setUnfolded(true);
    });
  }

  render(): void {
    const { clip, isCut, isUnfolded, text } = this.#fold;
    clip.classList.toggle('cut', isCut);
    this.#button.hidden = !isCut;
    this.#button.textContent = isUnfolded ? text.foldText : text.wholeText;
    this.#button.setAttribute('aria-expanded', String(isUnfolded));
  }

  #setUnfolded(isUnfolded: boolean): void {
    const fold = this.#fold;
    fold.isUnfolded = isUnfolded;
    fold.isCut = !isUnfolded;
    fold.clip.classList.toggle('foldable', !isUnfolded);
    this.render();
    this.#button.hidden = false;
  }
}
