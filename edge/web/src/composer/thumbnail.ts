/** A picture of a file, in a size that is needed. It is drawn, because the policy of a page may allow no addresses of files. */

import { h } from '../dom/html.ts';

/** `side` is the longer one at most, in pixels. A file that the browser cannot show is an empty square; the server decides about it. */
export async function thumbnailOf(
  file: Blob,
  name: string,
  side: number,
): Promise<HTMLCanvasElement> {
  const canvas = h('canvas', { role: 'img', 'aria-label': name, width: 1, height: 1 });
  try {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, side / Math.max(picture.width, picture.height));
    canvas.width = Math.max(1, Math.round(picture.width * scale));
    canvas.height = Math.max(1, Math.round(picture.height * scale));
    canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    picture.close();
  } catch {
    // The name stays.
  }
  return canvas;
}
