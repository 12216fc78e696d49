/** One style sheet for all elements of the page. What is loaded later adds its rules. */

import css from './element.css';

let sheet: CSSStyleSheet | null = null;
let firstRules = css;
let laterRules = '';

export function styleSheet(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(firstRules + laterRules);
  }
  return sheet;
}

/** They override the rules that are there; only `used.css` comes before all that is loaded later, whatever comes first. */
export function addStyles(rules: string, isUsed = false): void {
  if (isUsed) firstRules += rules;
  else laterRules += rules;
  sheet?.replaceSync(firstRules + laterRules);
}
