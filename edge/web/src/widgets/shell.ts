/** What the elements beside the comments have in common: a shadow tree, a language, a server. */

import { styleSheet } from '../style/widget-sheet.ts';
import { loadLocale } from '../text/load-locale.ts';
import type { Locale } from '../text/locale.ts';

/** The shadow root, with the style sheet. */
export function shadowOf(element: HTMLElement): ShadowRoot {
  if (element.shadowRoot) return element.shadowRoot;
  const root = element.attachShadow({ mode: 'open' });
  root.adoptedStyleSheets = [styleSheet()];
  return root;
}

/** The server that the element names, without a slash at the end; else that of the script. */
export const serverOf = (element: HTMLElement, scripts: string): string =>
  (element.getAttribute('api') || scripts).replace(/\/$/, '');

/** The locale of the element, the page or the browser. */
export async function localeOf(element: HTMLElement, scripts: string): Promise<Locale> {
  const { lang } = document.documentElement;
  return loadLocale([element.getAttribute('lang'), lang, ...navigator.languages], scripts);
}
