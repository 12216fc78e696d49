/**
 * Where terms of the word filter are in a text. Pure. The server decides; this shows a moderator what it has probably
 * found: it follows the filter's rules but for traditional characters and letters that look like others.
 */

import type { Term } from './wire.ts';

export interface Span {
  start: number;
  end: number;
}

const DENSE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/u;
const KEPT = /[\p{L}\p{N}]/u;
const INVISIBLE = /[\p{M}\p{Cf}]/u;
const INVISIBLES = /[\p{M}\p{Cf}]+/gu;
/** What a term may have between its characters: nothing that ends a clause or a line. */
const GAP = '[^\\p{L}\\p{N}，。！？；：、…\\n]';
const WORD = '[\\p{sc=Latin}\\p{sc=Cyrillic}\\p{sc=Greek}\\p{N}]';
/** A term that begins or ends with so few letters does so at the edge of a word. */
const MAX_SHORT_END = 4;
/** From so many characters on a term is found letter by letter. */
const MIN_SPELLED = 3;

const isDense = (char: string | undefined) => char !== undefined && DENSE.test(char);
const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** A term as it is compared. */
const comparedTerm = (term: string) => term.replace(INVISIBLES, '').normalize('NFKC').toLowerCase();

/** A text as it is compared, and where each of its units was. */
function folded(text: string): { units: string; places: number[] } {
  let units = '';
  const places: number[] = [];
  let place = 0;
  for (const char of text) {
    const compared = INVISIBLE.test(char) ? '' : char.normalize('NFKC').toLowerCase();
    units += compared;
    for (let n = 0; n < compared.length; n += 1) places.push(place);
    place += char.length;
  }
  return { units, places: [...places, place] };
}

/** The edge of a word beside an end that begins with these characters; nothing where none is needed. */
function edge(chars: readonly string[], look: '(?<!' | '(?!', hasGap: boolean): string {
  const letters = chars.findIndex(isDense);
  const length = letters < 0 ? chars.length : letters;
  return length > 0 && (hasGap || length <= MAX_SHORT_END) ? `${look}${WORD})` : '';
}

/** The letters and digits of a compared text. */
const keptOf = (units: string) => units.replace(/[^\p{L}\p{N}]+/gu, '');

/** What finds a compared term in a compared text. */
function patternOf(term: string): RegExp {
  const found = /^([^\p{L}\p{N}]*)(.*?)([^\p{L}\p{N}]*)$/su.exec(term);
  const [, lead = '', middle = '', trail = ''] = found ?? [];
  const chars = [...middle];
  const kept = chars.filter((char) => KEPT.test(char));
  const hasGap = kept.length < chars.length;
  let joined = '';
  chars.forEach((char, index) => {
    if (!KEPT.test(char)) return;
    const before = chars[index - 1];
    const last = chars.slice(0, index).findLast((one) => KEPT.test(one));
    const isLoose = isDense(char) || isDense(last);
    if (last !== undefined && isLoose) joined += `${GAP}*`;
    else if (before !== undefined && !KEPT.test(before)) joined += `${GAP}+`;
    joined += escaped(char);
  });
  const spelled = kept.map(escaped).join(`${GAP}+`);
  const body = kept.length >= MIN_SPELLED && !hasGap ? `(?:${joined}|${spelled})` : joined;
  const first = edge(kept, '(?<!', hasGap);
  const last = edge(kept.toReversed(), '(?!', hasGap);
  return new RegExp(`${first}${escaped(lead)}${body}${escaped(trail)}${last}`, 'gu');
}

/** Where these terms are, in the order of the text; no two overlap. */
export function matchedSpans(text: string, terms: readonly Pick<Term, 'term'>[]): Span[] {
  const { units, places } = folded(text);
  const kept = keptOf(units);
  const spans: Span[] = [];
  for (const { term } of terms) {
    const compared = comparedTerm(term);
    const letters = keptOf(compared);
    // Most of a large dictionary ends here.
    if (!letters || !kept.includes(letters)) continue;
    for (const { index, 0: match } of units.matchAll(patternOf(compared))) {
      spans.push({ start: places[index] ?? 0, end: places[index + match.length] ?? text.length });
    }
  }
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  let end = 0;
  return spans.filter((span) => {
    const isApart = span.start >= end && span.end > span.start;
    if (isApart) end = span.end;
    return isApart;
  });
}
