/** Marks the names behind an `@` that a comment mentions. */

import type { MemberName } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import css from '../style/mentions.css';
import { addStyles } from '../style/style-sheet.ts';

addStyles(css);

/** In code, and in what is a link already, an `@` is an `@`. */
const LEFT_ALONE = 'a, code, pre';

export function markMentions(body: HTMLElement, mentions: readonly MemberName[]): void {
  // Of two names that begin alike the longer one is meant.
  const names = mentions.map(({ name }) => name).filter(Boolean);
  names.sort((a, b) => b.length - a.length);
  if (names.length === 0) return;
  const pattern = new RegExp(`@(?:${names.map(escapeForPattern).join('|')})`, 'g');
  for (const node of textNodesOf(body)) markIn(node, pattern);
}

function textNodesOf(body: HTMLElement): Text[] {
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    if (!node.parentElement?.closest(LEFT_ALONE)) found.push(node);
  }
  return found;
}

function markIn(node: Text, pattern: RegExp): void {
  const parts: (string | Node)[] = [];
  let end = 0;
  for (const match of node.data.matchAll(pattern)) {
    const [name] = match;
    parts.push(node.data.slice(end, match.index), h('span', { class: 'mention' }, name));
    end = match.index + name.length;
  }
  if (end > 0) node.replaceWith(...parts, node.data.slice(end));
}

const escapeForPattern = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
