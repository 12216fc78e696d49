/** The DOM of a composer. It knows how to show texts and errors; what they mean is `composer.ts`. */

import { h } from '../dom/html.ts';
import { uniqueId } from '../dom/template.ts';
import type { Strings } from '../text/en.ts';
import type { ComposerShell } from './shell.ts';

/** The longest name that the server takes, in UTF-16 units. */
export const MAX_NAME_LENGTH = 40;

export interface ComposerHandlers {
  onInput: () => void;
  onSubmit: () => void;
  /** Adds a cancel button. */
  onCancel: (() => void) | null;
}

/** An input and the paragraph that says what is wrong with it. */
interface Field<Input extends HTMLElement> {
  readonly input: Input;
  readonly error: HTMLParagraphElement;
}

export class ComposerForm {
  readonly node: HTMLFormElement;
  /** Around the text field. */
  readonly field: HTMLElement;
  /** Places above the text and below it for what is loaded after the form. */
  readonly head = h('div', { class: 'form-head' });
  readonly tools = h('div', { class: 'tools' });
  readonly text: Field<HTMLTextAreaElement>;
  readonly name: Field<HTMLInputElement>;
  /** Who posts, and the button that changes a guest's name. */
  readonly postingAs = h('span', { class: 'who' });
  readonly counter = h('span', { class: 'counter' });
  readonly progress = h('p', { class: 'progress', role: 'status' });
  /** Where a widget is shown that others draw. */
  readonly widgetSlot = h('slot', { name: uniqueId('widget') });
  readonly submitButton: HTMLButtonElement;
  /** Makes the text visible, where its preview takes its place. */
  showWriting: () => void = () => undefined;
  readonly #nameRow: HTMLDivElement;

  /** Makes a whole form of `shell`, around its text field, so that who writes in it goes on. */
  constructor(
    shell: ComposerShell,
    submitLabel: string,
    handlers: ComposerHandlers,
    strings: Strings,
  ) {
    this.node = shell.form;
    this.node.noValidate = true;
    this.field = shell.field;
    this.text = textField(shell, handlers);
    this.name = nameField(strings.namePlaceholder);
    this.#nameRow = h(
      'div',
      { hidden: true },
      h(
        'div',
        { class: 'name' },
        h('label', { for: this.name.input.id }, strings.yourName),
        this.name.input,
      ),
      this.name.error,
    );
    this.submitButton = h('button', { type: 'submit', class: 'button primary' }, submitLabel);
    this.node.addEventListener('submit', (event) => {
      event.preventDefault();
      handlers.onSubmit();
    });
    this.node.classList.remove('closed');
    this.field.before(this.head);
    this.field.after(
      this.tools,
      this.text.error,
      this.progress,
      this.widgetSlot,
      this.#nameRow,
      h(
        'div',
        { class: 'bar' },
        this.postingAs,
        this.counter,
        handlers.onCancel && cancelButton(handlers.onCancel, strings.cancel),
        this.submitButton,
      ),
    );
  }

  /** Shows pictures under the text, and their button below it. */
  addPictures(button: HTMLElement, list: HTMLElement): void {
    this.text.error.before(list);
    this.tools.append(button);
  }

  focus(): void {
    this.showWriting();
    this.text.input.focus();
  }

  /** Shows a button beside the field for the name. */
  offer(button: HTMLElement): void {
    this.name.input.after(button);
  }

  get asksName(): boolean {
    return !this.#nameRow.hidden;
  }

  set asksName(asks: boolean) {
    this.#nameRow.hidden = !asks;
  }

  setBusy(isBusy: boolean, submitLabel: string): void {
    this.text.input.readOnly = isBusy;
    this.name.input.readOnly = isBusy;
    // A `disabled` button would lose the focus of a keyboard.
    this.submitButton.setAttribute('aria-disabled', String(isBusy));
    this.submitButton.textContent = submitLabel;
    if (isBusy) this.progress.textContent = '';
  }

  showTextError(sentence: string): void {
    this.#showError(this.text, sentence);
  }

  showNameError(sentence: string): void {
    this.#showError(this.name, sentence);
  }

  clearTextError(): void {
    clearError(this.text);
  }

  #showError(field: Field<HTMLElement>, sentence: string): void {
    this.showWriting();
    this.progress.textContent = '';
    field.error.textContent = sentence;
    field.input.setAttribute('aria-invalid', 'true');
    field.input.focus();
  }
}

function clearError({ input, error }: Field<HTMLElement>): void {
  error.textContent = '';
  input.removeAttribute('aria-invalid');
}

function textField(
  { input, fault: error }: ComposerShell,
  handlers: ComposerHandlers,
): Field<HTMLTextAreaElement> {
  error.id = uniqueId('error');
  input.rows = 3;
  input.setAttribute('aria-describedby', error.id);
  input.addEventListener('input', handlers.onInput);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) handlers.onSubmit();
  });
  return { input, error };
}

function nameField(placeholder: string): Field<HTMLInputElement> {
  const error = h('p', { class: 'error', role: 'alert', id: uniqueId('error') });
  const input = h('input', {
    id: uniqueId('name'),
    maxlength: MAX_NAME_LENGTH,
    autocomplete: 'nickname',
    placeholder,
    'aria-describedby': error.id,
  });
  const field = { input, error };
  input.addEventListener('input', () => clearError(field));
  return field;
}

function cancelButton(cancel: () => void, label: string): HTMLButtonElement {
  return h('button', { type: 'button', class: 'button', on: { click: cancel } }, label);
}
