/** What the elements beside the comments have in common: a shadow tree, a language, a server, the colours of the page. */

import { h } from '../dom/html.ts';
import { loadLocale } from '../languages/load-locale.ts';
import { PageTheme } from '../style/page-theme.ts';
import { styleSheet } from '../style/widget-sheet.ts';
import type { Locale } from '../text/locale.ts';

export class WidgetShell {
  readonly #element: HTMLElement;
  readonly #root: ShadowRoot;
  readonly #theme: PageTheme;
  readonly #stopped = new AbortController();

  constructor(element: HTMLElement) {
    this.#element = element;
    this.#root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    this.#theme = new PageTheme(element, () => {
      const theme = element.getAttribute('theme');
      return theme === 'light' || theme === 'dark' ? theme : 'auto';
    });
    this.#root.adoptedStyleSheets = [styleSheet(), this.#theme.sheet];
    this.#theme.follow(this.#stopped.signal);
  }

  /** The server that the element names, without a slash at the end; else `server`. */
  serverOr(server: string): string {
    return (this.#element.getAttribute('api') || server).replace(/\/$/, '');
  }

  /** The locale of the element, of what it is in, or of the browser. */
  async locale(): Promise<Locale> {
    const language = this.#element.closest<HTMLElement>('[lang]:not([lang=""])')?.lang;
    return loadLocale(language, ...navigator.languages);
  }

  /** Shows this, in the language of the locale; gives what is around it. */
  show(content: HTMLElement, { tag, direction, fonts }: Locale, label: string | null): HTMLElement {
    this.#theme.update();
    const section = h('section', { lang: tag, dir: direction, 'aria-label': label }, content);
    section.style.fontFamily = fonts;
    this.#root.replaceChildren(section);
    return section;
  }

  stop(): void {
    this.#stopped.abort();
  }
}
