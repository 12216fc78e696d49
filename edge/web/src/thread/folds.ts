/**
 * Folds the replies below a comment away, by a button under its picture, and remembers that in the tab. It is loaded when the
 * reader comes to the comments, or has folded some before.
 */

import { h, icon } from '../dom/html.ts';
import { setTabStop } from '../dom/tab-stop.ts';
import css from '../style/folds.css';
import { addStyles } from '../style/style-sheet.ts';
import { type ComposerStrings, composerText } from '../text/composer.ts';
import { tabStorage } from '../util/json-storage.ts';
import { keepIn, removeFrom } from '../util/keep.ts';
import { foldedKey } from './folded-key.ts';
import type { ThreadPartHost } from './part-host.ts';

const FOLD_PATH = 'M7 12h10';

addStyles(css);

interface Fold {
  readonly rail: HTMLButtonElement;
  readonly row: HTMLButtonElement;
}

export class ThreadFolds {
  readonly #thread: ThreadPartHost;
  readonly #text: ComposerStrings;
  readonly #key: string;
  readonly #folds = new WeakMap<Element, Fold>();
  /** The ids of comments. */
  readonly #folded: Set<string>;

  constructor(thread: ThreadPartHost) {
    this.#thread = thread;
    this.#text = composerText(thread.locale);
    this.#key = foldedKey(thread.api.base, thread.subject);
    this.#folded = new Set(tabStorage.get<string[]>(this.#key) ?? []);
    const { list } = thread.frame;
    const observer = new MutationObserver((changes) => this.#onChanges(changes));
    observer.observe(list, {
      childList: true,
      subtree: true,
      attributes: true,
      attributeFilter: ['class', 'hidden'],
    });
    this.#update();
  }

  #onChanges(changes: MutationRecord[]): void {
    const nodes = changes.flatMap(({ target, addedNodes }) => [target, ...addedNodes]);
    // What is linked, or written by the reader, is seen.
    for (const node of nodes) {
      if (!(node instanceof Element) || !node.matches('.target, .sending')) continue;
      const above = foldedAbove(node);
      for (const item of above) this.#fold(item, false);
      if (above.length > 0) node.scrollIntoView({ block: 'nearest' });
    }
    this.#update();
  }

  #update(): void {
    for (const item of this.#thread.frame.list.querySelectorAll('.item')) this.#decorate(item);
  }

  #decorate(item: Element): void {
    const hasReplies = item.querySelector(
      ':scope > .replies > :not([hidden]), :scope > .more-replies:not([hidden], .folded-row)',
    );
    const known = this.#folds.get(item);
    if (known) {
      const isHidden = !hasReplies || item.classList.contains('folded');
      // Each change is observed, so what stays is not written.
      if (known.rail.hidden !== isHidden) known.rail.hidden = isHidden;
      return;
    }
    if (!hasReplies) return;
    const article = item.querySelector<HTMLElement>(':scope > article');
    const head = article?.querySelector('.head');
    if (!article || !head) return;
    const rail = h(
      'button',
      {
        type: 'button',
        class: 'rail',
        'aria-label': this.#text.foldReplies,
        'aria-expanded': 'true',
        title: this.#text.foldReplies,
        on: { click: () => this.#press(item, true) },
      },
      icon(FOLD_PATH),
    );
    const row = h('button', {
      type: 'button',
      class: 'link more-replies folded-row',
      'aria-expanded': 'false',
      hidden: true,
      on: { click: () => this.#press(item, false) },
    });
    this.#folds.set(item, { rail, row });
    head.append(rail);
    article.after(row);
    setTabStop(article);
    if (this.#folded.has(idOf(item))) this.#fold(item, true);
  }

  #press(item: Element, isFolded: boolean): void {
    this.#fold(item, isFolded);
    const { rail, row } = this.#folds.get(item) ?? {};
    (isFolded ? row : rail)?.focus();
  }

  #fold(item: Element, isFolded: boolean): void {
    const id = idOf(item);
    const fold = this.#folds.get(item);
    if (isFolded) this.#folded.add(id);
    else this.#folded.delete(id);
    if (this.#folded.size > 0) keepIn(tabStorage, this.#key, [...this.#folded]);
    else removeFrom(tabStorage, this.#key);
    item.classList.toggle('folded', isFolded);
    if (!fold) return;
    const count = this.#thread.comments.viewsOf(id)[0]?.comment.replies ?? 0;
    fold.row.textContent = this.#text.showThread(count);
    fold.row.hidden = !isFolded;
    fold.rail.hidden = isFolded;
  }
}

/** A branch may be folded inside of another one. */
function foldedAbove(node: Element): Element[] {
  const item = node.parentElement?.closest('.folded');
  return item ? [item, ...foldedAbove(item)] : [];
}

const idOf = (item: Element) =>
  item.querySelector(':scope > article')?.getAttribute('data-id') ?? '';
