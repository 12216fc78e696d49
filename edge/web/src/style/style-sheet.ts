/** One style sheet for all elements of the page. What is loaded later adds its rules. */

import css from './element.css';

let sheet: CSSStyleSheet | null = null;
let text = css;

export function styleSheet(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
  }
  return sheet;
}

export function addStyles(rules: string): void {
  text += rules;
  sheet?.replaceSync(text);
}
