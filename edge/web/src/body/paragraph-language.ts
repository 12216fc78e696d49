/** The language of a paragraph, where its script leaves no doubt. */

/** Of the letters of a text, so many are of its script. */
const MIN_SHARE = 0.6;
/** Fewer characters of Chinese, without kana, may be Japanese too. */
const MIN_HAN = 8;

interface Script {
  readonly language: string;
  readonly letters: RegExp;
  /** Letters that other languages of the script have. */
  readonly others?: RegExp;
}

const SCRIPTS: readonly Script[] = [
  { language: 'ko', letters: /\p{Script=Hangul}/gu },
  { language: 'ja', letters: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]/gu },
  { language: 'ru', letters: /\p{Script=Cyrillic}/gu, others: /[іїєґўђјљњћџѓќѕәғқңөұүһ]/i },
  { language: 'ar', letters: /\p{Script=Arabic}/gu, others: /[پچژگکیےٹڈڑںہ]/ },
  { language: 'he', letters: /\p{Script=Hebrew}/gu },
];

const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;

/**
 * The tag of the language; null where the script does not say. In a comment with kana (`isJapanese`) a paragraph without
 * any may be Japanese too.
 */
export function languageOf(paragraph: string, isJapanese = KANA.test(paragraph)): string | null {
  const letters = countOf(paragraph, /\p{L}/gu);
  for (const { language, letters: own, others } of SCRIPTS) {
    const count = countOf(paragraph, own);
    if (count === 0 || count < MIN_SHARE * letters) continue;
    if (others?.test(paragraph)) return null;
    if (language !== 'ja' || KANA.test(paragraph)) return language;
    return isJapanese || count < MIN_HAN ? null : 'zh';
  }
  return null;
}

const countOf = (text: string, letters: RegExp) => text.match(letters)?.length ?? 0;

/** Marks the paragraphs of `body` whose language is another one than `tag`: for screen readers, and for the shapes of letters. */
export function markLanguages(body: HTMLElement, tag: string): void {
  const isJapanese = KANA.test(body.textContent ?? '');
  for (const paragraph of body.querySelectorAll<HTMLElement>(
    'p, li, h1, h2, h3, h4, h5, h6, td, th',
  )) {
    const language = languageOf(paragraph.textContent ?? '', isJapanese);
    if (language && language !== tag.split('-')[0]) paragraph.lang = language;
  }
}
