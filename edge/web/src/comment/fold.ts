/** Folds a long text to some lines. Whether it is longer is measured once it is laid out. */

import { h } from '../dom/html.ts';
import type { Strings } from '../text/en.ts';

/** Less HTML than this fills no more lines than a folded text has. */
const MIN_FOLDED_LENGTH = 90;

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
  readonly node: HTMLDivElement;
  readonly #text: Strings;
  readonly #clip = h('div', { class: 'clip' });
  readonly #button: HTMLButtonElement;
  #body: HTMLElement | null = null;
  #isUnfolded = false;

  constructor(text: Strings) {
    this.#text = text;
    this.#button = h('button', {
      type: 'button',
      class: 'link unfold',
      hidden: true,
      on: { click: () => this.#toggle() },
    });
    this.node = h('div', { class: 'fold' }, this.#clip, this.#button);
    // A link in the folded part gets the focus.
    this.#clip.addEventListener('focusin', () => {
      if (!this.#button.hidden && !this.#isUnfolded) this.#toggle();
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
    this.#clip.classList.toggle('cut', isCut);
    this.#button.hidden = !isCut;
    this.#button.textContent = this.#text.wholeText;
    this.#button.setAttribute('aria-expanded', 'false');
  }

  #toggle(): void {
    this.#isUnfolded = !this.#isUnfolded;
    this.#clip.classList.toggle('foldable', !this.#isUnfolded);
    this.#clip.classList.toggle('cut', !this.#isUnfolded);
    this.#button.textContent = this.#isUnfolded ? this.#text.foldText : this.#text.wholeText;
    this.#button.setAttribute('aria-expanded', String(this.#isUnfolded));
  }
}
