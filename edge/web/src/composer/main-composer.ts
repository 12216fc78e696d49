/** The form at the top of a thread: a line that becomes a form when the reader comes to it, or has left a draft. */

import { make } from '../dom/template.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { tabStorage } from '../util/json-storage.ts';
import type { Composer, ComposerHost } from './composer.ts';
import { draftKey, draftScope } from './draft-key.ts';
import type * as Forms from './forms.ts';
import { type ComposerShell, composerShell } from './shell.ts';

interface MainComposerHost extends Omit<ThreadContext, 'recent'> {
  /** Loads what acts. */
  complete(): Promise<Completed>;
  /** The open forms. */
  readonly composers: Set<Composer>;
}

interface Completed {
  readonly thread: ComposerHost;
  loadForms(): Promise<typeof Forms>;
}

export class MainComposer {
  readonly #thread: MainComposerHost;
  readonly #shell: ComposerShell;
  readonly #error: HTMLParagraphElement;
  #composer: Composer | null = null;
  #isLoading = false;

  /** `form` is a copy of `SHELL_HTML`. */
  constructor(thread: MainComposerHost, form: HTMLFormElement) {
    const { api, subject, text } = thread;
    this.#thread = thread;
    this.#shell = composerShell(text.write, text.placeholder, form);
    const { input } = this.#shell;
    this.#error = make('p', { className: 'error', role: 'alert' });
    form.append(this.#error);
    form.addEventListener('dragenter', () => this.#open());
    // The reader who points at it is about to use it.
    form.addEventListener('pointerenter', () =>
      thread
        .complete()
        .then((later) => later.loadForms())
        .catch(() => undefined),
    );
    for (const event of ['focus', 'input'] as const) {
      input.addEventListener(event, () => this.#open());
    }
    const draft = tabStorage.get<{ text: string }>(draftKey(draftScope(api.base, subject)));
    if (!draft) return;
    input.value = draft.text;
    this.#open();
  }

  /** Whether nothing would be lost if it was not there. */
  get isEmpty(): boolean {
    return this.#composer?.isEmpty ?? this.#shell.input.value === '';
  }

  focus(): void {
    this.#shell.input.focus();
  }

  async #open(): Promise<void> {
    if (this.#composer || this.#isLoading) return;
    this.#isLoading = true;
    try {
      const later = await this.#thread.complete();
      const { Composer } = await later.loadForms();
      this.#composer = new Composer(later.thread, {}, null, this.#shell);
      this.#thread.composers.add(this.#composer);
      this.#error.remove();
    } catch {
      this.#error.textContent = this.#thread.text.errors.network;
    }
    this.#isLoading = false;
  }
}
