/**
 * Keys for a reader whose focus is in the comments: from one to the next, and what can be done with one. They are loaded when
 * the focus comes in.
 */

import { AccountDialog } from '../account/dialog.ts';
import { h } from '../dom/html.ts';
import { controlsOf, setTabStop } from '../dom/tab-stop.ts';
import css from '../style/keys.css';
import { addStyles } from '../style/style-sheet.ts';
import { keysText } from '../text/keys.ts';
import type { Locale } from '../text/locale.ts';

/** Where letters are written. */
const FIELD_SELECTOR = 'input, textarea, select, dialog';

addStyles(css);

export class Keys {
  readonly #section: HTMLElement;
  readonly #locale: Locale;
  readonly #isAllowed: () => boolean;

  /** `isAllowed` is the decision of the page about letters. */
  constructor(section: HTMLElement, locale: Locale, isAllowed: () => boolean) {
    this.#section = section;
    this.#locale = locale;
    this.#isAllowed = isAllowed;
    section.addEventListener('keydown', (event) => this.#onKey(event, event.target));
    section.addEventListener('focusin', ({ target }) => {
      const control = target as HTMLElement;
      const comment = control.closest('article');
      if (comment && controlsOf(comment).includes(control)) setTabStop(comment, control);
    });
  }

  /** Does what was asked for before this was loaded, at `target`. What has been done already is not done again. */
  catchUp(event: KeyboardEvent, target: Element): void {
    const focused = (this.#section.getRootNode() as ShadowRoot).activeElement;
    if (focused && !target.closest(FIELD_SELECTOR)) this.#onKey(event, focused);
  }

  #onKey(event: KeyboardEvent, target: EventTarget | null): void {
    const { key, isComposing } = event;
    const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
    if (hasModifier || isComposing || event.defaultPrevented) return;
    const focused = target as HTMLElement;
    if (focused.closest(FIELD_SELECTOR)) return;
    const isArrow = key.startsWith('Arrow');
    if (!isArrow && !this.#isAllowed()) return;
    const comment = focused.closest('article');
    const isDone = isArrow ? comment && moveWithin(comment, focused, key) : this.#act(key, comment);
    if (isDone) event.preventDefault();
  }

  /** Whether the key means something here. */
  #act(key: string, comment: HTMLElement | null): boolean {
    switch (key) {
      case 'j':
        return this.#move(comment, 1);
      case 'k':
        return this.#move(comment, -1);
      case 'u':
        return focus(comment && this.#answered(comment));
      case 'r':
        return press(comment?.querySelector('.actions .reply'));
      case 'l':
        return press(comment?.querySelector('.actions .like'));
      case 'o':
        return press(
          comment?.querySelector(
            '.unfold:not([hidden]), .gap button, .answer:not([hidden]) button',
          ) ?? comment?.parentElement?.querySelector(':scope > .more-replies:not([hidden])'),
        );
      case '?':
        return this.#showHelp();
      default:
        return false;
    }
  }

  #move(comment: HTMLElement | null, step: 1 | -1): boolean {
    const all = [...this.#section.querySelectorAll('article')].filter((each) =>
      each.checkVisibility(),
    );
    const at = comment ? all.indexOf(comment) + step : 0;
    return focus(all[at]);
  }

  /** The comment that this one answers, where it is on the page; else the one it is drawn under. */
  #answered(comment: HTMLElement): HTMLElement | null {
    const hash = comment.querySelector('.answer:not([hidden]) a')?.getAttribute('href') ?? '';
    const id = hash.replace('#comment-', '');
    const named = id && this.#section.querySelector<HTMLElement>(`article[data-id="${id}"]`);
    const under = comment.parentElement?.parentElement?.closest('.item');
    return named || (under?.querySelector('article') ?? null);
  }

  #showHelp(): boolean {
    const { title, close, keys } = keysText(this.#locale);
    const focused = (this.#section.getRootNode() as ShadowRoot).activeElement;
    const dialog = new AccountDialog(title, close, () => focus(focused as HTMLElement | null));
    const rows = Object.entries(keys).flatMap(([key, meaning]) => [
      h('dt', {}, h('kbd', {}, key)),
      h('dd', {}, meaning),
    ]);
    dialog.body.append(h('dl', { class: 'keys' }, ...rows));
    dialog.open(this.#section);
    return true;
  }
}

/** Opens a menu, or goes to the next or the previous control of the comment, in the direction of its text. */
function moveWithin(comment: HTMLElement, focused: HTMLElement, key: string): boolean {
  if (key === 'ArrowDown' && focused.ariaHasPopup === 'menu') return press(focused);
  const controls = controlsOf(comment);
  const at = controls.indexOf(focused);
  if (at < 0 || !/Left|Right/.test(key)) return false;
  const isRightToLeft = getComputedStyle(comment).direction === 'rtl';
  const step = (key === 'ArrowRight') === isRightToLeft ? -1 : 1;
  return focus(controls[(at + step + controls.length) % controls.length]);
}

function focus(node: HTMLElement | null | undefined): boolean {
  node?.focus();
  return Boolean(node);
}

function press(node: Element | null | undefined): boolean {
  if (!(node instanceof HTMLElement) || !node.checkVisibility()) return false;
  node.click();
  return true;
}
