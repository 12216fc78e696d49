/**
 * Gailou (盖楼): comments for any page, in one request.
 *
 *   <script src="https://comments.example/gailou.js" data-subject="article/hello"></script>
 *
 * or, where the comments belong elsewhere on the page:
 *
 *   <gailou-comments subject="article/hello"></gailou-comments>
 *
 * What the server rendered (`/t/article/hello?fragment=1`) may be inside the element, or before the
 * script tag. It is shown until the comments are loaded, and nothing moves when they are.
 *
 * This file only puts the element where it belongs and loads the rest, `define.ts`, from beside itself. The files there
 * have a hash in their names, so a browser that has them asks for nothing.
 *
 * Beside the comments there are `<gailou-count subject>` (or `data-gailou-count` on any element), `<gailou-latest>` and
 * `<gailou-bell>`.
 *
 * docs/embedding.md has the attributes, properties, methods, events and parts. It needs no framework and no inline code, so
 * it works under a strict Content-Security-Policy.
 */

import { mount } from './mount.ts';
import { preloadFirstPage } from './preload.ts';

/** The file with the element, as the build names it. */
declare const ELEMENT_FILE: string;
/** It has the languages, and knows their files. */
declare const LOADERS_FILE: string;
/** The names of the files with the texts: each begins with its language, and `zh` comes before `zh-tw`. */
declare const LANGUAGE_FILES: readonly string[];
/** It names the file with the element itself, for a copy of this script that is older than the files. */
const STABLE_FILE = './gailou/element.js';

const { currentScript } = document;
/** A module does not know its tag, and runs once for all of them. */
const scripts =
  currentScript instanceof HTMLScriptElement ? [currentScript] : findModuleScripts(document);
const address = scripts[0]?.src;

function findModuleScripts(page: Document): HTMLScriptElement[] {
  const modules = [...page.querySelectorAll<HTMLScriptElement>('script[type="module"][src]')];
  return modules.filter(({ src }) => new URL(src).pathname.endsWith('/gailou.js'));
}

/** A classic script of another origin has no address of its own for `import`. */
const load = (file: string): Promise<unknown> => {
  const url = address ? new URL(file, address).href : file;
  return import(url);
};

load(ELEMENT_FILE).catch(() => load(STABLE_FILE));
// Beside the element, so that it does not wait for its texts. Of tags that few pages have the element finds the texts itself.
const language = scripts[0]?.dataset.lang || document.documentElement.lang || navigator.language;
const isTraditional = /^zh-(hant|tw|hk|mo)/i.test(language);
const start = isTraditional ? 'zh-tw' : language.slice(0, 2);
const texts = LANGUAGE_FILES.find((name) => name.startsWith(start));
if (start !== 'en') load(LOADERS_FILE).catch(() => undefined);
if (texts) load(`./gailou/${texts}.js`).catch(() => undefined);

const server = new URL(address || location.href).origin;
const preload = (element: HTMLElement) => preloadFirstPage(element, server);
for (const element of document.querySelectorAll<HTMLElement>('gailou-comments')) preload(element);
for (const script of scripts) mount(script, server, preload);
