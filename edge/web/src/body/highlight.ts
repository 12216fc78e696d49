/**
 * Colours the code in a comment. It is loaded with the first comment that has some. A block whose language is not named
 * is coloured when it is long enough for a guess.
 */

import type { HighlightResult, HLJSApi } from 'highlight.js';
import core from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { h } from '../dom/html.ts';
import rules from '../style/highlight.css';
import { addStyles } from '../style/style-sheet.ts';
import { codeKey } from './code-language.ts';

/** In less than this a guess is mostly wrong. */
const MIN_GUESSED_LENGTH = 80;
/** How much of a language the library finds in a text that is of it. */
const MIN_RELEVANCE = 8;
/** No comment is longer; what is takes too long. */
const MAX_LENGTH = 20_000;

const LANGUAGES = {
  bash,
  cpp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  php,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};

const library: HLJSApi = core.newInstance();
for (const [name, language] of Object.entries(LANGUAGES)) library.registerLanguage(name, language);
library.registerAliases(['c', 'h'], { languageName: 'cpp' });

addStyles(rules);

/** `named` has the languages of the blocks. */
export function highlightCode(body: HTMLElement, named: ReadonlyMap<string, string>): void {
  for (const block of body.querySelectorAll<HTMLElement>('pre > code')) {
    const code = block.textContent ?? '';
    const result = highlighted(code, named.get(codeKey(code)) ?? '');
    const colored = result && safeSpans(result.value);
    // The library colours a text and changes none.
    if (colored && colored.textContent === code) block.replaceChildren(colored);
  }
}

function highlighted(code: string, language: string): HighlightResult | null {
  if (code.length > MAX_LENGTH) return null;
  if (language) {
    if (!library.getLanguage(language)) return null;
    return library.highlight(code, { language, ignoreIllegals: true });
  }
  if (code.length < MIN_GUESSED_LENGTH) return null;
  const guess = library.highlightAuto(code);
  return guess.relevance >= MIN_RELEVANCE ? guess : null;
}

/** The texts of `html` in spans with the classes of the library, and nothing else of it. */
function safeSpans(html: string): DocumentFragment {
  const template = document.createElement('template');
  // Nothing in a template loads or runs.
  template.innerHTML = html;
  const fragment = document.createDocumentFragment();
  copySpans(template.content, fragment);
  return fragment;
}

function copySpans(from: Node, to: ParentNode): void {
  for (const node of from.childNodes) {
    if (node instanceof Text) to.append(node.data);
    if (!(node instanceof HTMLSpanElement)) continue;
    const span = h('span', { class: node.className });
    copySpans(node, span);
    to.append(span);
  }
}
