/** The texts of a language: English ones are here, every other language is loaded when it is needed. */

import { en } from './en.ts';
import { Locale } from './locale.ts';

let chinese: Locale | undefined;

/**
 * At once where the texts are here, so that nothing waits for them. Every tag that begins with `zh` is Chinese; every other
 * one is English, and so is what cannot be loaded.
 */
export function loadLocale(tag: string): Locale | Promise<Locale> {
  const english = () => new Locale('en', en);
  if (!/^zh/i.test(tag)) return english();
  return (
    chinese ??
    import('./zh.ts').then(({ zh }) => {
      chinese = new Locale('zh', zh);
      return chinese;
    }, english)
  );
}
