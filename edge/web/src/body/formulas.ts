/**
 * Draws the formulas in a comment: blocks of code in the language of TeX. It is loaded with the first comment that has some.
 * One that cannot be drawn stays as it is.
 */

import temml from 'temml/temml.js';
import { h } from '../dom/html.ts';
import css from '../style/formulas.css';
import { addStyles } from '../style/style-sheet.ts';
import { codeKey } from './code-language.ts';
import { canDraw, isFormulaLanguage } from './formula-source.ts';
import { safeMathML } from './safe-mathml.ts';

/** Expansions of the macros that the library has itself. */
const MAX_EXPANSIONS = 500;
/** The largest length in a formula, in em and in pt. */
const MAX_SIZE = [20, 300] as const;

addStyles(css);

/** `named` has the languages of the blocks. */
export function drawFormulas(body: HTMLElement, named: ReadonlyMap<string, string>): void {
  // Where the browser knows no MathML, a formula would be a row of letters.
  if (!('MathMLElement' in globalThis)) return;
  for (const block of body.querySelectorAll<HTMLElement>('pre > code')) {
    const tex = block.textContent ?? '';
    if (!isFormulaLanguage(named.get(codeKey(tex)) ?? '') || !canDraw(tex)) continue;
    const math = formulaOf(tex);
    const pre = block.parentElement;
    if (math && pre) addFormula(math, pre);
  }
}

function formulaOf(tex: string): MathMLElement | null {
  try {
    const markup = temml.renderToString(tex, {
      displayMode: true,
      throwOnError: true,
      trust: false,
      maxExpand: MAX_EXPANSIONS,
      maxSize: MAX_SIZE,
    });
    return safeMathML(markup);
  } catch {
    return null;
  }
}

/** Puts the formula in the place of its source, which can be opened below it. */
function addFormula(math: MathMLElement, pre: HTMLElement): void {
  // A wide one can be scrolled by keys.
  const drawing = h('div', { class: 'drawing', tabindex: 0 }, math);
  const source = h('details', {}, h('summary', {}, 'TeX'));
  const formula = h('div', { class: 'formula', dir: 'ltr' }, drawing, source);
  pre.replaceWith(formula);
  source.append(pre);
}
