/** The texts of the console, and times as they are read in them. */

import { FOR_EVER_MS } from './standing.ts';
import { type ConsoleText, en } from './text-en.ts';
import { zh } from './text-zh.ts';

export type { ConsoleText };

export const TEXTS = { en, zh };

export type Language = keyof typeof TEXTS;

/** How long ago, in the largest whole unit. */
export function ago(text: ConsoleText, thenMs: number, nowMs: number): string {
  const minutes = Math.floor((nowMs - thenMs) / 60_000);
  if (minutes < 1) return text.justNow;
  if (minutes < 60) return text.minutes(minutes);
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? text.hours(hours) : text.days(Math.floor(hours / 24));
}

/** A moment as a day and a time. */
export function timeFormat(language: Language): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en', {
    dateStyle: 'medium',
    timeStyle: 'short',
  });
}

/** Until when a member is muted. */
export function mutedText(text: ConsoleText, language: Language, untilMs: number): string {
  if (untilMs >= FOR_EVER_MS) return text.mutedForEver;
  return text.mutedUntil(timeFormat(language).format(untilMs));
}
