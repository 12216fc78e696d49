/** The texts of a language: English ones are here, every other language is a file that is loaded when it is needed. */

import { en } from '../text/en.ts';
import { Locale } from '../text/locale.ts';

const ENGLISH = new Locale({ tag: 'en', text: en });

/** By the tags that asked for them. */
const loaded = new Map<string, Locale>();

/**
 * The locale of the first tag with a language; at once where the texts are here, so that nothing waits for them. A language
 * that cannot be loaded is English.
 */
export function loadLocale(...tags: (string | null | undefined)[]): Locale | Promise<Locale> {
  const given = tags.filter((tag) => tag?.trim()).join();
  return /^(en\b|$)/i.test(given) ? ENGLISH : (loaded.get(given) ?? load(given));
}

async function load(tags: string): Promise<Locale> {
  try {
    const { loadLanguage } = await import('./loaders.ts');
    const language = await loadLanguage(tags.split(','));
    const locale = language ? new Locale(language) : ENGLISH;
    loaded.set(tags, locale);
    return locale;
  } catch {
    return ENGLISH;
  }
}
