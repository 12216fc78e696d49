/** What opens under a comment: the form for a reply or an edit. */

import type { ComposerPurpose } from '../composer/composer.ts';
import { h } from '../dom/html.ts';
import { isTombstone } from '../model/shown-comment.ts';
import type { CommentHost, MessagePlace, OwningComment } from './host.ts';

export class InlineForms {
  /** Holds at most one form. */
  readonly slot = h('div');
  readonly replyButton: HTMLButtonElement;
  readonly editButton: HTMLButtonElement;
  readonly deleteButton: HTMLButtonElement;
  readonly #thread: CommentHost;
  readonly #view: OwningComment;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    const { text } = thread;
    this.replyButton = actionButton('reply', text.reply, () => this.#openReply());
    this.editButton = actionButton('edit', text.edit, () => this.#openEdit());
    this.deleteButton = actionButton('delete', text.delete, () => {
      this.close();
      thread.useMenus(view, (menus) => menus.deleteComment(view));
    });
  }

  get isOpen(): boolean {
    return this.slot.childElementCount > 0;
  }

  render(): void {
    const { text } = this.#thread;
    const { comment, own, authorName } = this.#view;
    const isPublished = comment.state === 'published';
    this.replyButton.hidden = !isPublished || !this.#thread.isOpen;
    const isBuilding = this.#thread.mode === 'building';
    this.replyButton.textContent = isBuilding ? text.build : text.reply;
    const label = isBuilding ? `${text.build}: ${authorName}` : text.writeReply(authorName);
    this.replyButton.setAttribute('aria-label', label);
    this.editButton.hidden = !isPublished || !own.can_edit;
    this.deleteButton.hidden =
      isTombstone(comment) || comment.state === 'sending' || !own.can_delete;
  }

  close(): void {
    this.slot.replaceChildren();
  }

  #openReply(): void {
    const { comment } = this.#view;
    openForm(this.#thread, { parent: comment }, this.slot, this.replyButton, this.#view);
    this.#view.hideBody(false);
  }

  async #openEdit(): Promise<void> {
    const { comment } = this.#view;
    const close = () => this.#view.hideBody(false);
    const edit = { edit: comment };
    if (await openForm(this.#thread, edit, this.slot, this.editButton, this.#view, close)) {
      this.#view.hideBody(true);
    }
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
