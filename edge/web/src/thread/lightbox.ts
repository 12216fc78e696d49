/**
 * The lightbox: a picture of a comment over the whole window, with its description below. The arrow keys go to the other
 * pictures of the comment; Esc, a press beside the buttons, and the button that says so close it.
 */

import '../text/later.ts';
import { h, icon } from '../dom/html.ts';
import { uniqueId } from '../dom/template.ts';
import css from '../style/lightbox.css';
import { addStyles } from '../style/style-sheet.ts';
import type { ThreadPartHost } from './part-host.ts';

const CLOSE_PATH = 'M6 6l12 12M18 6L6 18';
const PREVIOUS_PATH = 'M15 5l-7 7 7 7';
const NEXT_PATH = 'M9 5l7 7-7 7';

addStyles(css);

/** `opener` is the link of the picture that is shown first; it gets the focus when the lightbox closes. */
export function openLightbox(thread: ThreadPartHost, opener: HTMLAnchorElement): void {
  const lightbox = new Lightbox(thread, opener);
  thread.frame.section.append(lightbox.node);
  lightbox.open();
}

class Lightbox {
  readonly node: HTMLDialogElement;
  readonly #thread: ThreadPartHost;
  readonly #links: HTMLAnchorElement[];
  readonly #image = h('img', { alt: '', referrerpolicy: 'no-referrer' });
  readonly #caption = h('figcaption', { id: uniqueId('caption'), dir: 'auto' });
  readonly #place = h('p', { class: 'place', role: 'status' });
  #at: number;

  constructor(thread: ThreadPartHost, opener: HTMLAnchorElement) {
    this.#thread = thread;
    this.#links = [...(opener.parentElement?.querySelectorAll('a') ?? [])];
    this.#at = this.#links.indexOf(opener);
    const { text } = thread;
    const isAlone = this.#links.length < 2;
    this.node = h(
      'dialog',
      {
        class: 'lightbox',
        'aria-labelledby': this.#caption.id,
        on: {
          click: ({ target }) => {
            if (!(target as Element).closest('button')) this.node.close();
          },
          close: () => {
            this.node.remove();
            (opener.isConnected ? opener : this.#newOpener(opener))?.focus();
          },
          keydown: (event) => this.#onKey(event),
        },
      },
      h('figure', {}, this.#image, this.#caption),
      this.#place,
      button('close', text.close, CLOSE_PATH, () => this.node.close()),
      isAlone ? null : button('previous', text.previousPicture, PREVIOUS_PATH, () => this.#go(-1)),
      isAlone ? null : button('next', text.nextPicture, NEXT_PATH, () => this.#go(1)),
    );
  }

  open(): void {
    this.#show();
    this.node.showModal();
  }

  /** The link to the same picture, where the comment was drawn again meanwhile. */
  #newOpener({ href }: HTMLAnchorElement): HTMLAnchorElement | undefined {
    const links = this.#thread.frame.section.querySelectorAll<HTMLAnchorElement>('.media a');
    return [...links].find((link) => link.href === href);
  }

  #show(): void {
    const link = this.#links[this.#at];
    if (!link) return;
    const { locale, text } = this.#thread;
    const { length } = this.#links;
    const description = link.querySelector('img')?.alt ?? '';
    this.#image.src = link.href;
    this.#image.alt = description;
    this.#caption.textContent = description || text.picture;
    this.#caption.classList.toggle('sr', !description);
    const places = [this.#at + 1, length].map((each) => locale.shortNumber(each));
    this.#place.textContent = length > 1 ? places.join(' / ') : '';
  }

  #go(step: number): void {
    const { length } = this.#links;
    this.#at = (this.#at + step + length) % length;
    this.#show();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    const isRightToLeft = this.#thread.locale.direction === 'rtl';
    this.#go((event.key === 'ArrowRight') === isRightToLeft ? -1 : 1);
  }
}

function button(name: string, label: string, path: string, click: () => void): HTMLButtonElement {
  return h(
    'button',
    { type: 'button', class: `lightbox-button ${name}`, 'aria-label': label, on: { click } },
    icon(path),
  );
}
