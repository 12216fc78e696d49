/** Texts, numbers and times in one language. It needs no DOM. */

import type { AccountStrings } from './account.ts';
import type { ComposerStrings } from './composer.ts';
import type { Strings } from './en.ts';
import type { KeysStrings } from './keys.ts';
import type { LanguageTag } from './match-language.ts';
import type { MenuStrings } from './menu.ts';
import type { WidgetStrings } from './widgets.ts';

const MINUTE_MS = 60_000;
/** How many of them are one of the next. */
const UNITS = [
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
] as const;

/** The texts of a language. Those of other scripts are there when the language is a file of its own. */
export interface Language {
  readonly tag: LanguageTag;
  readonly text: Strings;
  /** The value of `font-family` where the characters of Chinese have other shapes. */
  readonly fonts?: string;
  readonly account?: AccountStrings;
  readonly keys?: KeysStrings;
  readonly menu?: MenuStrings;
  readonly widgets?: WidgetStrings;
  readonly composer?: ComposerStrings;
}

/** A language that is a file of its own has every text. */
export type LoadedLanguage = Language & Required<Omit<Language, 'fonts'>>;

export class Locale {
  readonly language: Language;
  /** The value of an HTML `lang` attribute. */
  readonly tag: LanguageTag;
  /** The value of an HTML `dir` attribute. */
  readonly direction: 'ltr' | 'rtl';
  readonly text: Strings;
  /** The value of `font-family`; empty for the usual one. */
  readonly fonts: string;
  readonly #compact: Intl.NumberFormat;
  readonly #relative: Intl.RelativeTimeFormat;
  readonly #date: Intl.DateTimeFormat;

  constructor(language: Language) {
    this.language = language;
    this.tag = language.tag;
    this.direction = this.tag === 'ar' || this.tag === 'he' ? 'rtl' : 'ltr';
    this.text = language.text;
    this.fonts = language.fonts ? `var(--gailou-font, ${language.fonts})` : '';
    this.#compact = new Intl.NumberFormat(this.tag, {
      notation: 'compact',
      maximumFractionDigits: 1,
    });
    this.#relative = new Intl.RelativeTimeFormat(this.tag, { numeric: 'auto' });
    this.#date = new Intl.DateTimeFormat(this.tag, { dateStyle: 'medium' });
  }

  /** `12345` → `12.3K`. */
  shortNumber(value: number): string {
    return this.#compact.format(value);
  }

  /** `5 minutes ago`; a date from 30 days on. A time in the future reads as `just now`. */
  timeAgo(atMs: number, nowMs = Date.now()): string {
    let passed = (nowMs - atMs) / MINUTE_MS;
    if (passed < 1) return this.text.now;
    for (const [unit, perNext] of UNITS) {
      if (passed < perNext) return this.#relative.format(-Math.floor(passed), unit);
      passed /= perNext;
    }
    return this.#date.format(atMs);
  }
}
