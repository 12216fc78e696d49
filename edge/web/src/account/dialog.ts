/** A window over the page: a title, what is in it, and a button that closes it. Esc closes it too. */

import { h } from '../dom/html.ts';
import { uniqueId } from '../dom/template.ts';
import css from '../style/dialog.css';
import { addStyles } from '../style/style-sheet.ts';

addStyles(css);

export class AccountDialog {
  readonly node: HTMLDialogElement;
  readonly body = h('div', { class: 'dialog-body' });
  readonly error = h('p', { class: 'error', role: 'alert' });

  /** `onClose` is called once, however it is closed. */
  constructor(title: string, closeLabel: string, onClose: () => void = () => undefined) {
    const heading = h('h3', { id: uniqueId('dialog') }, title);
    const closeButton = h(
      'button',
      {
        type: 'button',
        class: 'link',
        'aria-label': closeLabel,
        on: { click: () => this.close() },
      },
      '×',
    );
    this.node = h(
      'dialog',
      {
        class: 'dialog',
        'aria-labelledby': heading.id,
        on: {
          close: () => {
            this.node.remove();
            onClose();
          },
          click: (event) => {
            // The backdrop is the dialog itself.
            if (event.target === this.node) this.close();
          },
        },
      },
      h('div', { class: 'dialog-head' }, heading, closeButton),
      this.body,
      this.error,
    );
  }

  open(place: HTMLElement): void {
    place.append(this.node);
    this.node.showModal();
  }

  close(): void {
    this.node.close();
  }
}
