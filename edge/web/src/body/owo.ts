/**
 * Packs of emoji and stickers in the format of OwO, which many comment systems share:
 * `{"Name": {"type": "emoticon" | "emoji" | "image", "container": [{"icon": "…", "text": "name"}]}}`.
 * What a pack says is text, never HTML. The `icon` of a sticker is the address of its picture, or an `<img>` with it.
 */

import { safeUrl } from '../dom/safe-url.ts';

export interface Emoji {
  /** What is inserted. */
  readonly value: string;
  /** Words to find it by. */
  readonly words: string;
  /** Of a sticker: the address of what is shown for `value`. */
  readonly picture?: string;
}

export interface EmojiGroup {
  readonly name: string;
  readonly emoji: readonly Emoji[];
}

const MAX_PACKS = 20;
const MAX_EMOJI_PER_PACK = 300;
/** Longer than any face made of letters. */
const MAX_EMOJI_LENGTH = 60;
const MAX_NAME_LENGTH = 40;
/** What a name has nothing of, so that Markdown leaves it as it is. */
const NO_NAME = /[^\p{L}\p{N}_+.-]+/gu;

/** A sticker in a text. */
export const STICKER = new RegExp(`:([\\p{L}\\p{N}_+.-]{1,${MAX_NAME_LENGTH}}):`, 'gu');

/** By the address of their packs. */
const loaded = new Map<string, Promise<EmojiGroup[]>>();

/** The groups at an address, which is asked once. Rejects where it cannot be read, and is asked again then. */
export function loadPacks(address: string): Promise<EmojiGroup[]> {
  let groups = loaded.get(address);
  if (!groups) {
    groups = fetchPacks(address);
    groups.catch(() => loaded.delete(address));
    loaded.set(address, groups);
  }
  return groups;
}

async function fetchPacks(address: string): Promise<EmojiGroup[]> {
  const response = await fetch(address, { credentials: 'omit' });
  return parsePacks(await response.json(), response.url);
}

/** The groups of a document; what has another form is left out. Pictures are named from `base` on. */
export function parsePacks(document: unknown, base: string): EmojiGroup[] {
  if (!isRecord(document)) return [];
  return Object.entries(document)
    .slice(0, MAX_PACKS)
    .flatMap(([name, pack]) => {
      if (!isRecord(pack) || !Array.isArray(pack.container)) return [];
      const parse = pack.type === 'image' ? parseSticker : parseEmoji;
      const entries: unknown[] = pack.container.slice(0, MAX_EMOJI_PER_PACK);
      const emoji = entries.flatMap((entry) => parse(entry, base));
      return emoji.length > 0 ? [{ name, emoji }] : [];
    });
}

function parseEmoji(entry: unknown): Emoji[] {
  if (!isRecord(entry)) return [];
  const { icon, text } = entry;
  if (typeof icon !== 'string' || !icon || icon.length > MAX_EMOJI_LENGTH) return [];
  if (/[<>]\s*(img|\/)/i.test(icon)) return [];
  return [{ value: icon, words: typeof text === 'string' ? text : '' }];
}

function parseSticker(entry: unknown, base: string): Emoji[] {
  if (!isRecord(entry)) return [];
  const { icon, text } = entry;
  if (typeof icon !== 'string' || typeof text !== 'string') return [];
  const name = text.replace(NO_NAME, '-').replace(/^[-_]+|[-_]+$/g, '');
  const address = /<img[^>]*\ssrc\s*=\s*["']?([^"'\s>]+)/i.exec(icon)?.[1] ?? icon;
  const picture = safeUrl(address, undefined, base);
  if (!name || name.length > MAX_NAME_LENGTH || !picture) return [];
  return [{ value: `:${name}:`, words: text, picture }];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
