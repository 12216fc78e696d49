/** The style sheet of the elements beside the comments, one for all of a page. */

import css from './widget.css';

let sheet: CSSStyleSheet | null = null;

export function styleSheet(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  return sheet;
}
