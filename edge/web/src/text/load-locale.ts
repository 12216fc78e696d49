/** The texts of a language: English and Chinese are here, every other language is a file that is loaded when it is needed. */

import { en } from './en.ts';
import { type Language, Locale } from './locale.ts';
import { type LanguageTag, matchLanguage } from './match-language.ts';
import { zh } from './zh.ts';

const ENGLISH: Language = { tag: 'en', text: en };
const CHINESE: Language = { tag: 'zh-CN', text: zh };

/**
 * The locale of the first tag with a language; at once when its texts are here, so that nothing waits for them. `scripts` is
 * the address of the element's files, without a slash at the end. A language that cannot be loaded is Chinese for
 * traditional Chinese, and else English.
 */
export function loadLocale(
  tags: readonly (string | null)[],
  scripts: string,
): Locale | Promise<Locale> {
  const tag = matchLanguage(tags);
  if (tag === 'en') return new Locale(ENGLISH);
  if (tag === 'zh-CN') return new Locale(CHINESE);
  return loadLanguage(tag, scripts).then((language) => new Locale(language));
}

async function loadLanguage(tag: LanguageTag, scripts: string): Promise<Language> {
  try {
    const loaded: { language: Language } = await import(`${scripts}/lang/${tag.toLowerCase()}.js`);
    return loaded.language;
  } catch {
    return tag === 'zh-TW' ? CHINESE : ENGLISH;
  }
}
