/** The texts of a language: English ones are here, every other language is a file that is loaded when it is needed. */

import { en } from '../text/en.ts';
import { type Language, Locale } from '../text/locale.ts';
import { type LanguageTag, matchLanguage } from '../text/match-language.ts';

const ENGLISH = new Locale({ tag: 'en', text: en });

const LOADERS: Readonly<Record<Exclude<LanguageTag, 'en'>, () => Promise<{ language: Language }>>> =
  {
    'zh-CN': async () => ({ language: { tag: 'zh-CN', text: (await import('../text/zh.ts')).zh } }),
    'zh-TW': () => import('./zh-tw.ts'),
    ja: () => import('./ja.ts'),
    ko: () => import('./ko.ts'),
    de: () => import('./de.ts'),
    fr: () => import('./fr.ts'),
    es: () => import('./es.ts'),
    'pt-BR': () => import('./pt-br.ts'),
    ru: () => import('./ru.ts'),
    ar: () => import('./ar.ts'),
    he: () => import('./he.ts'),
  };

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
    const locale = new Locale((await LOADERS[tag]()).language);
    loaded.set(tag, locale);
    return locale;
  } catch {
    return ENGLISH;
  }
}
