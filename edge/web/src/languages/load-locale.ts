/** The texts of a language: English ones are here, every other language is a file that is loaded when it is needed. */

import { en } from '../text/en.ts';
import { Locale } from '../text/locale.ts';
import { type LanguageTag, matchLanguage } from '../text/match-language.ts';

const ENGLISH = new Locale({ tag: 'en', text: en });

const loaded = new Map<LanguageTag, Locale>([['en', ENGLISH]]);

/**
 * The locale of the first tag with a language; at once where the texts are here, so that nothing waits for them. A language
 * that cannot be loaded is English.
 */
export function loadLocale(...tags: (string | null | undefined)[]): Locale | Promise<Locale> {
  const tag = matchLanguage(tags);
  return loaded.get(tag) ?? load(tag as Exclude<LanguageTag, 'en'>);
}

async function load(tag: Exclude<LanguageTag, 'en'>): Promise<Locale> {
  try {
    const { LOADERS } = await import('./loaders.ts');
    const locale = new Locale((await LOADERS[tag]()).language);
    loaded.set(tag, locale);
    return locale;
  } catch {
    return ENGLISH;
  }
}
