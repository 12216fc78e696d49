/** Folds a long text to some lines. Whether it is longer is measured once it is laid out. */

import { partsOf } from '../dom/template.ts';
import type { Strings } from '../text/en.ts';

/** Less HTML than this fills no more lines than a folded text has. */
const MIN_FOLDED_LENGTH = 90;

export const FOLD_HTML =
  '<div class="fold"><div class="clip"></div>' +
  '<button class="unfold link" tabindex="-1" hidden></button></div>';

interface FoldParts {
  readonly clip: HTMLElement;
  readonly unfold: HTMLButtonElement;
}

const folds = new WeakMap<Element, TextFold>();
let observer: ResizeObserver | null = null;

function observe(body: Element, fold: TextFold): void {
  observer ??= new ResizeObserver((entries) => {
    for (const { target } of entries) folds.get(target)?.measure();
  });
  folds.set(body, fold);
  observer.observe(body);
}

export class TextFold {
  readonly node: HTMLElement;
  readonly #text: Strings;
  readonly #clip: HTMLElement;
  readonly #button: HTMLButtonElement;
  #body: HTMLElement | null = null;
  #isUnfolded = false;

  /** `node` is a copy of `FOLD_HTML`. */
  constructor(node: HTMLElement, text: Strings) {
    this.node = node;
    this.#text = text;
    const { clip, unfold } = partsOf<FoldParts>(node);
    this.#clip = clip;
    this.#button = unfold;
    unfold.onclick = () => this.#setUnfolded(!this.#isUnfolded);
    // A link in the folded part gets the focus.
    clip.addEventListener('focusin', () => {
      if (!this.#button.hidden) this.#setUnfolded(true);
    });
  }

  /** Shows this text; one that was unfolded stays so. */
  show(body: HTMLElement): void {
    if (this.#body) observer?.unobserve(this.#body);
    this.#body = body;
    this.#clip.replaceChildren(body);
    this.#button.hidden = true;
    const isLong = body.innerHTML.length >= MIN_FOLDED_LENGTH;
    this.#clip.classList.toggle('foldable', isLong && !this.#isUnfolded);
    this.#clip.classList.remove('cut');
    if (isLong) observe(body, this);
  }

  measure(): void {
    if (this.#isUnfolded || !this.#body) return;
    const isCut = this.#body.offsetHeight > this.#clip.clientHeight + 1;
    this.#button.hidden = !isCut;
    if (isCut) this.#setUnfolded(false);
    else this.#clip.classList.remove('cut');
  }

  #setUnfolded(isUnfolded: boolean): void {
    this.#isUnfolded = isUnfolded;
    this.#clip.classList.toggle('foldable', !isUnfolded);
    this.#clip.classList.toggle('cut', !isUnfolded);
    this.#button.textContent = isUnfolded ? this.#text.foldText : this.#text.wholeText;
    this.#button.setAttribute('aria-expanded', String(isUnfolded));
  }
}
