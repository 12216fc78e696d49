/** Marks the names behind an `@` that a comment mentions. */

import type { MemberName } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import css from '../style/mentions.css';
import { addStyles } from '../style/style-sheet.ts';
import { replaceInTexts } from './replace-in-texts.ts';

addStyles(css);

export function markMentions(body: HTMLElement, mentions: readonly MemberName[]): void {
  // Of two names that begin alike the longer one is meant.
  const names = mentions.map(({ name }) => name).filter(Boolean);
  names.sort((a, b) => b.length - a.length);
  if (names.length === 0) return;
  const pattern = new RegExp(`@(?:${names.map(escapeForPattern).join('|')})`, 'g');
  replaceInTexts(body, pattern, ([name]) => h('span', { class: 'mention' }, name));
}

const escapeForPattern = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
