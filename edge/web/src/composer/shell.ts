/** The form for a comment before it is used: one line. What is written in it stays there when the rest is loaded. */

import { h, uniqueId } from '../dom/html.ts';

export interface ComposerShell {
  readonly form: HTMLFormElement;
  /** Around the text field. */
  readonly field: HTMLElement;
  readonly input: HTMLTextAreaElement;
}

/** `label` is the accessible name of the text field. */
export function composerShell(label: string, placeholder: string): ComposerShell {
  const input = h('textarea', { id: uniqueId('text'), rows: 1, placeholder });
  const field = h('div', { class: 'field' }, input);
  const form = h(
    'form',
    { class: 'composer closed', novalidate: true },
    h('label', { class: 'sr', for: input.id }, label),
    field,
  );
  return { form, field, input };
}
