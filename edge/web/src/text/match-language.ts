/** Which of the element's languages a BCP 47 tag asks for. */

/** The languages, by the value of an HTML `lang` attribute; in the order of the documents. */
export const LANGUAGE_TAGS = [
  'en',
  'zh-CN',
  'zh-TW',
  'ja',
  'ko',
  'de',
  'fr',
  'es',
  'pt-BR',
  'ru',
  'ar',
  'he',
] as const;

export type LanguageTag = (typeof LANGUAGE_TAGS)[number];

/** Regions that write traditional characters. */
const TRADITIONAL = /-(hant|tw|hk|mo)\b/;
const SIMPLIFIED = /-hans\b/;
/** `iw` is the former code of Hebrew. */
const RENAMED: Readonly<Record<string, LanguageTag>> = { iw: 'he', pt: 'pt-BR' };

/** The language of the first tag that has one, else English. */
export function matchLanguage(tags: readonly (string | null | undefined)[]): LanguageTag {
  for (const tag of tags) {
    const found = tag && matchTag(tag.trim().toLowerCase().replaceAll('_', '-'));
    if (found) return found;
  }
  return 'en';
}

function matchTag(tag: string): LanguageTag | undefined {
  const [language = ''] = tag.split('-');
  if (language === 'zh') {
    return TRADITIONAL.test(tag) && !SIMPLIFIED.test(tag) ? 'zh-TW' : 'zh-CN';
  }
  return RENAMED[language] ?? LANGUAGE_TAGS.find((each) => each === language);
}
