/** Items of lists that are tasks: the server writes the box of one as its first character. */

import { addStyles } from '../style/style-sheet.ts';
import css from '../style/tasks.css';

const BOX = /^\s*[☐☑] /;

addStyles(css);

/** Their box stands in the place of the bullet. */
export function markTasks(body: HTMLElement): void {
  for (const item of body.querySelectorAll('ul > li')) {
    // In a list with space between its items each one is a paragraph.
    const text = item.querySelector(':scope > p:first-child') ?? item;
    if (BOX.test(text.firstChild?.textContent ?? '')) item.classList.add('task');
  }
}
