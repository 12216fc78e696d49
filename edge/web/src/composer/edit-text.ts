/** Changes the text of a field as typing does: the browser can undo it, and the field says `input`. */

import type { SelectedText, TextEdit } from './text-edit.ts';

export function selectedIn(input: HTMLTextAreaElement): SelectedText {
  const { value: text, selectionStart: start, selectionEnd: end } = input;
  return { text, start, end };
}

export function applyEdit(input: HTMLTextAreaElement, edit: TextEdit): void {
  if (input.readOnly) return;
  const { from, to, insert, selectFrom, selectTo } = edit;
  input.focus();
  input.setSelectionRange(from, to);
  // The one way that keeps what the browser can undo; without it the text is set.
  const isTyped = insert
    ? document.execCommand('insertText', false, insert)
    : document.execCommand('delete');
  if (!isTyped) {
    input.setRangeText(insert, from, to, 'end');
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }
  input.setSelectionRange(selectFrom, selectTo);
}
