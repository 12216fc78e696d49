/**
 * Packs of emoji in the format of OwO, which many comment systems share:
 * `{"Name": {"type": "emoticon" | "emoji" | "image", "container": [{"icon": "…", "text": "name"}]}}`.
 * What a pack says is text, never HTML. Packs of pictures are left out: comments show no pictures of other servers.
 */

export interface Emoji {
  /** What is inserted. */
  readonly value: string;
  /** Words to find it by. */
  readonly words: string;
}

export interface EmojiGroup {
  readonly name: string;
  readonly emoji: readonly Emoji[];
}

const MAX_PACKS = 20;
const MAX_EMOJI_PER_PACK = 300;
/** Longer than any face made of letters. */
const MAX_EMOJI_LENGTH = 60;

/** The groups of a document; what has another form is left out. */
export function parsePacks(document: unknown): EmojiGroup[] {
  if (!isRecord(document)) return [];
  return Object.entries(document)
    .slice(0, MAX_PACKS)
    .flatMap(([name, pack]) => {
      if (!isRecord(pack) || pack.type === 'image' || !Array.isArray(pack.container)) return [];
      const emoji = pack.container.slice(0, MAX_EMOJI_PER_PACK).flatMap(parseEmoji);
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

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
