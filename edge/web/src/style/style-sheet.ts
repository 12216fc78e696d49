/** One style sheet for all elements of the page. */

import css from './element.css';

let sheet: CSSStyleSheet | null = null;

export function styleSheet(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  return sheet;
}
