/** What opens under a comment: the form for a reply or an edit. It is loaded when the reader replies, or may change a comment. */

import { ownComment } from '../api/member-calls.ts';
import type { ComposerPurpose } from '../composer/composer.ts';
import { h } from '../dom/html.ts';
import { isTombstone } from '../model/shown-comment.ts';
import type { CommentHost, MessagePlace, OwningComment } from './host.ts';
import { bodyOf } from './parts.ts';

export class InlineForms {
  readonly #editButton: HTMLButtonElement;
  readonly #deleteButton: HTMLButtonElement;
  readonly #thread: CommentHost;
  readonly #view: OwningComment;
  #isOpening = false;

  /** Puts the buttons for the reader's own comments beside those of all readers. */
  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    const { text } = thread;
    this.#editButton = actionButton('edit', text.edit, () => this.#openEdit());
    this.#deleteButton = actionButton('delete', text.delete, () => {
      view.slot.replaceChildren();
      thread.useMenus(view, (menus) => menus.deleteComment(view));
    });
    view.reply.after(this.#editButton, this.#deleteButton);
    this.render();
  }

  render(): void {
    const { comment, own } = this.#view;
    this.#editButton.hidden = comment.state !== 'published' || !own.can_edit;
    this.#deleteButton.hidden =
      isTombstone(comment) || comment.state === 'sending' || !own.can_delete;
  }

  openReply(): void {
    const { comment, reply, slot } = this.#view;
    openForm(this.#thread, { parent: comment }, slot, reply, this.#view);
    this.#view.hideBody(false);
  }

  /** A list does not have the text as written, and one that was read before may be another by now. */
  async #openEdit(): Promise<void> {
    if (this.#isOpening) return;
    this.#isOpening = true;
    const { api, locale } = this.#thread;
    const { slot } = this.#view;
    const close = () => this.#view.hideBody(false);
    this.#view.showMessage('');
    // The form is on its way meanwhile.
    this.#thread.loadForms().catch(() => undefined);
    try {
      const { data } = await ownComment(api, this.#view.comment.id);
      const kept = () => [
        ...bodyOf(data, locale, api.base).querySelectorAll<HTMLElement>('.media > a'),
      ];
      const edit = { edit: data, kept };
      if (await openForm(this.#thread, edit, slot, this.#editButton, this.#view, close)) {
        this.#view.hideBody(true);
      }
    } catch (problem) {
      this.#thread.report(problem, this.#view);
    }
    this.#isOpening = false;
  }
}

/**
 * Opens a form in `slot`; the focus goes back to `opener` when it is closed. False when it could not
 * be loaded.
 */
export async function openForm(
  thread: CommentHost,
  purpose: ComposerPurpose,
  slot: HTMLElement,
  opener: HTMLElement,
  place: MessagePlace,
  onClose?: () => void,
): Promise<boolean> {
  const { composers } = thread;
  const forms = await thread.loaded(thread.loadForms(), place);
  if (!forms) return false;
  const composer = new forms.Composer(thread, { place: slot, ...purpose }, () => {
    composers.delete(composer);
    slot.replaceChildren();
    onClose?.();
    opener.focus();
  });
  composers.add(composer);
  slot.replaceChildren(composer.form);
  composer.focus();
  return true;
}

function actionButton(name: string, label: string, click: () => void): HTMLButtonElement {
  return h('button', { type: 'button', class: `act ${name}`, on: { click } }, label);
}
