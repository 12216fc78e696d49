/** The small form that asks for a guest's name where a reaction needs one. */

import { ApiProblem } from '../api/problem.ts';
import { closeOnEscape, h, uniqueId } from '../dom/html.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { MAX_NAME_LENGTH } from './form.ts';

/** The thread whose reader becomes a guest. */
export interface GuestNameHost extends ThreadContext {
  readonly writing: GuestMaker;
}

interface GuestMaker {
  /** Rejects with an `ApiProblem` when the server refuses the name. */
  becomeGuest(name: string): Promise<void>;
}

/** Shows the form in `slot`; resolves to whether the reader is a guest then. */
export function askGuestName(thread: GuestNameHost, slot: HTMLElement): Promise<boolean> {
  const { text } = thread;
  return new Promise((resolve) => {
    const input = h('input', {
      id: uniqueId('name'),
      maxlength: MAX_NAME_LENGTH,
      autocomplete: 'nickname',
    });
    const error = h('p', { class: 'error', role: 'alert' });
    const finish = (isGuest: boolean) => {
      slot.replaceChildren();
      resolve(isGuest);
    };
    const submit = async () => {
      const name = input.value.trim();
      error.textContent = name ? await createGuest(thread, name) : text.needName;
      if (!error.textContent) finish(true);
    };
    const form = h(
      'form',
      {
        class: 'composer',
        on: {
          submit: (event) => {
            event.preventDefault();
            submit();
          },
        },
      },
      h('div', { class: 'name' }, h('label', { for: input.id }, text.nameToReact), input),
      error,
      h(
        'div',
        { class: 'bar' },
        h('span', { class: 'who' }),
        h(
          'button',
          { type: 'button', class: 'button', on: { click: () => finish(false) } },
          text.cancel,
        ),
        h('button', { type: 'submit', class: 'button primary' }, text.continue),
      ),
    );
    closeOnEscape(form, () => finish(false));
    slot.replaceChildren(form);
    input.focus();
  });
}

/** The sentence about what went wrong; empty when nothing did. */
async function createGuest(thread: GuestNameHost, name: string): Promise<string> {
  try {
    await thread.writing.becomeGuest(name);
    return '';
  } catch (problem) {
    if (!(problem instanceof ApiProblem)) throw problem;
    return problem.fieldDetail('name') || thread.locale.describeProblem(problem);
  }
}
