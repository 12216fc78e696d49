/** Draws the stickers of the page, which stand in a text by their names: `:doge:`. */

import { h } from '../dom/html.ts';
import css from '../style/stickers.css';
import { addStyles } from '../style/style-sheet.ts';
import { loadPacks, STICKER } from './owo.ts';
import { replaceInTexts } from './replace-in-texts.ts';

addStyles(css);

/** Rejects where the packs at `address` cannot be read. */
export async function drawStickers(body: HTMLElement, address: string): Promise<void> {
  const groups = await loadPacks(address);
  const all = groups.flatMap(({ emoji }) => emoji);
  const pictures = new Map(all.map(({ value, picture }) => [value, picture]));
  replaceInTexts(body, STICKER, ([value, name = '']) => {
    const src = pictures.get(value);
    return src ? sticker(src, value, name) : null;
  });
}

function sticker(src: string, value: string, name: string): HTMLImageElement {
  const image: HTMLImageElement = h('img', {
    class: 'sticker',
    alt: name,
    title: name,
    loading: 'lazy',
    referrerpolicy: 'no-referrer',
    // Its name says what is missing.
    on: { error: () => image.replaceWith(value) },
  });
  image.src = src;
  return image;
}
