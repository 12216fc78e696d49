/** What the elements beside the comments have in common: a shadow tree, a language, a server. */

import { h } from '../dom/html.ts';
import { loadLocale } from '../languages/load-locale.ts';
import { styleSheet } from '../style/widget-sheet.ts';
import type { Locale } from '../text/locale.ts';

/** The shadow root, with the style sheet. */
export function shadowOf(element: HTMLElement): ShadowRoot {
  if (element.shadowRoot) return element.shadowRoot;
  const root = element.attachShadow({ mode: 'open' });
  root.adoptedStyleSheets = [styleSheet()];
  return root;
}

/** What is in the shadow tree, in the language of the locale. */
export function sectionOf(locale: Locale, label: string | null, content: HTMLElement): HTMLElement {
  const { tag, direction, fonts } = locale;
  const section = h('section', { lang: tag, dir: direction, 'aria-label': label }, content);
  section.style.fontFamily = fonts;
  return section;
}

/** The server that the element names, without a slash at the end; else that of the script. */
export const serverOf = (element: HTMLElement, server: string): string =>
  (element.getAttribute('api') || server).replace(/\/$/, '');

/** The locale of the element, what it is in, or the browser. */
export async function localeOf(element: HTMLElement): Promise<Locale> {
  const language = element.closest<HTMLElement>('[lang]:not([lang=""])')?.lang;
  return loadLocale(language, ...navigator.languages);
}
