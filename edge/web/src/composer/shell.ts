/** The form for a comment before it is used: one line. What is written in it stays there when the rest is loaded. */

import { partsOf, template, uniqueId } from '../dom/template.ts';

export interface ComposerShell {
  readonly form: HTMLFormElement;
  /** Around the text field. */
  readonly field: HTMLElement;
  readonly input: HTMLTextAreaElement;
  /** Says what is wrong. */
  readonly fault: HTMLParagraphElement;
}

export const SHELL_HTML =
  '<form class="composer closed" part="composer"><label class="label sr"></label>' +
  '<div class="field"><textarea class="input" part="input" rows="1"></textarea></div>' +
  '<p class="fault error" role="alert"></p></form>';

/** `label` is the accessible name of the text field. `form` is a copy of `SHELL_HTML`. */
export function composerShell(
  label: string,
  placeholder: string,
  form = template<HTMLFormElement>(SHELL_HTML)(),
): ComposerShell {
  const parts = partsOf<ComposerShell & { label: HTMLLabelElement }>(form);
  const { input } = parts;
  input.id = uniqueId('text');
  input.placeholder = placeholder;
  parts.label.htmlFor = input.id;
  parts.label.textContent = label;
  return { ...parts, form };
}
