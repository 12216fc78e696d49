/** The form at the top of a thread: a line that becomes a form when the reader comes to it, or has left a draft. */

import type { ThreadContext } from '../model/thread-context.ts';
import { tabStorage } from '../util/json-storage.ts';
import type { Composer } from './composer.ts';
import { draftKey, draftScope } from './draft-key.ts';
import { type ComposerShell, composerShell } from './shell.ts';

interface MainComposerHost extends Omit<ThreadContext, 'recent'> {
  /** Carries out an action as soon as what acts is loaded; where it cannot be loaded, `place` says so. */
  act(place: MainComposer, action: (later: Completed) => unknown): Promise<void>;
}

interface Completed {
  /** Makes the form of the line. */
  openComposer(main: MainComposer): Promise<void>;
}

export class MainComposer {
  readonly shell: ComposerShell;
  /** Null while it is a line. */
  composer: Composer | null = null;

  /** `form` is a copy of `SHELL_HTML`. */
  constructor(thread: MainComposerHost, form: HTMLFormElement) {
    const { api, subject, text } = thread;
    this.shell = composerShell(text.write, text.placeholder, form);
    const { input } = this.shell;
    const open = () => thread.act(this, (later) => later.openComposer(this));
    for (const event of ['dragenter', 'focusin', 'input']) form.addEventListener(event, open);
    const draft = tabStorage.get<{ text: string }>(draftKey(draftScope(api.base, subject)));
    if (!draft) return;
    input.value = draft.text;
    open();
  }

  /** Whether nothing would be lost if it was not there. */
  get isEmpty(): boolean {
    return this.composer?.isEmpty ?? this.shell.input.value === '';
  }

  /** A whole form says by itself what is wrong. */
  showMessage(message: string): void {
    if (!this.composer) this.shell.fault.textContent = message;
  }
}
