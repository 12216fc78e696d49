/** A button of the toolbar: an icon with a name. */

import { h, icon } from '../dom/html.ts';

/** `keys` are shown with its name. */
export function toolButton(
  name: string,
  path: string,
  click: () => void,
  keys = '',
): HTMLButtonElement {
  const title = keys ? `${name} (${keys})` : name;
  // The text keeps its selection, and on a phone the keyboard stays.
  const mousedown = (event: MouseEvent) => event.preventDefault();
  const on = { click, mousedown };
  return h('button', { type: 'button', class: 'tool', 'aria-label': name, title, on }, icon(path));
}
