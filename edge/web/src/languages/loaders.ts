/** Where the texts are of every other language than English. The script tag asks for this file together with the texts. */

import type { Language } from '../text/locale.ts';
import { type LanguageTag, matchLanguage } from '../text/match-language.ts';

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

/** The language of the first tag that has one; null is English, whose texts are in no file. */
export async function loadLanguage(tags: readonly string[]): Promise<Language | null> {
  const tag = matchLanguage(tags);
  return tag === 'en' ? null : (await LOADERS[tag]()).language;
}
