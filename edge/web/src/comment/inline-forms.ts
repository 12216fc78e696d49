/** What opens under a comment: the form for a reply or an edit, and the question before a deletion. */

import { Composer, type ComposerPurpose } from '../composer/composer.ts';
import { closeOnEscape, h } from '../dom/html.ts';
import { isTombstone } from '../model/shown-comment.ts';
import type { CommentHost, OwningComment } from './host.ts';

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
    this.deleteButton = actionButton('delete', text.delete, () => this.#confirmDelete());
  }

  get isOpen(): boolean {
    return this.slot.childElementCount > 0;
  }

  render(): void {
    const { text } = this.#thread;
    const { comment, own, authorName } = this.#view;
    const isPublished = comment.state === 'published';
    this.replyButton.hidden = !isPublished || !this.#thread.isOpen;
    this.replyButton.setAttribute('aria-label', text.writeReply(authorName));
    this.editButton.hidden = !isPublished || !own.can_edit;
    this.deleteButton.hidden =
      isTombstone(comment) || comment.state === 'sending' || !own.can_delete;
  }

  close(): void {
    this.slot.replaceChildren();
  }

  #openReply(): void {
    this.#openComposer({ parent: this.#view.comment }, this.replyButton);
  }

  #openEdit(): void {
    this.#openComposer({ edit: this.#view.comment }, this.editButton);
    this.#view.hideBody(true);
  }

  #openComposer(purpose: ComposerPurpose, opener: HTMLButtonElement): void {
    const { composers } = this.#thread;
    const composer = new Composer(this.#thread, purpose, () => {
      composers.delete(composer);
      this.close();
      // The top floor of a building is the body.
      this.#view.hideBody(this.#view.isBuildingShown);
      opener.focus();
    });
    composers.add(composer);
    this.slot.replaceChildren(composer.form);
    composer.focus();
  }

  #confirmDelete(): void {
    const { text, writing } = this.#thread;
    const close = () => {
      this.close();
      this.deleteButton.focus();
    };
    const yes = h('button', { type: 'button', class: 'button danger' }, text.delete);
    yes.addEventListener('click', () => {
      yes.setAttribute('aria-disabled', 'true');
      writing.deleteComment(this.#view, () => this.close());
    });
    const panel = h(
      'div',
      { class: 'confirm', role: 'group', 'aria-label': text.confirmDelete },
      h('span', {}, text.confirmDelete),
      yes,
      h('button', { type: 'button', class: 'button', on: { click: close } }, text.cancel),
    );
    closeOnEscape(panel, close);
    this.slot.replaceChildren(panel);
    yes.focus();
  }
}

function actionButton(name: string, label: string, click: () => void): HTMLButtonElement {
  return h('button', { type: 'button', class: `act ${name}`, on: { click } }, label);
}
