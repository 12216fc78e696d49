// Compares pictures with accepted ones. A pixel may be a little lighter or darker, because browsers of other versions smooth
// letters otherwise; what a person would see is a difference.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import { palettePng } from './palette-png.mjs';

const ROOT = new URL('../../../', import.meta.url);
const REFERENCES = new URL('tests/web/screenshots/', ROOT);
const RESULTS = new URL('.tools/log/screenshots/', ROOT);

/** In lightness and colour, of 1, which is the difference between black and white. */
const PIXEL_THRESHOLD = 0.03;
/** Where nothing has changed it is one at most, and where the dots of the menus are missing 12 to 37. */
const MAX_CHANGED_PIXELS = 10;
const HOW_TO_ACCEPT = 'If that is meant, `npm run screenshots` accepts it.';

const pathOf = (url) => relative(fileURLToPath(ROOT), fileURLToPath(url));

/** How many pixels differ, and a picture of them; all of the pixels that only one of the two has do. */
export function differenceOf(actual, reference) {
  const width = Math.max(actual.width, reference.width);
  const height = Math.max(actual.height, reference.height);
  const [a, b] = [actual, reference].map((each) => extended(each, width, height));
  const picture = new PNG({ width, height });
  const options = { threshold: PIXEL_THRESHOLD };
  const changed = pixelmatch(a.data, b.data, picture.data, width, height, options);
  const isSameSize = actual.width === reference.width && actual.height === reference.height;
  return { changed, picture, isDifferent: !isSameSize || changed > MAX_CHANGED_PIXELS };
}

/** The same picture, and magenta where it is too small. */
function extended(png, width, height) {
  if (png.width === width && png.height === height) return png;
  const larger = new PNG({ width, height });
  for (let at = 0; at < larger.data.length; at += 4) larger.data.set([255, 0, 255, 255], at);
  PNG.bitblt(png, larger, 0, 0, png.width, png.height, 0, 0);
  return larger;
}

/** The accepted picture of this name, or null. */
export function readReference(name) {
  try {
    return PNG.sync.read(readFileSync(new URL(name, REFERENCES)));
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Writes a picture as the accepted one, unless the accepted one is the same to the eye. */
export function accept(name, bytes) {
  const actual = PNG.sync.read(bytes);
  const reference = readReference(name);
  if (reference && !differenceOf(actual, reference).isDifferent) return;
  mkdirSync(REFERENCES, { recursive: true });
  writeFileSync(new URL(name, REFERENCES), palettePng(actual));
}

/** What is wrong with a picture, in words; null where nothing is. Then the pictures are written for a person to look at. */
export function faultOf(name, bytes) {
  const file = (what) => new URL(name.replace('.png', `.${what}.png`), RESULTS);
  const files = {
    actual: file('actual'),
    reference: file('reference'),
    difference: file('difference'),
  };
  for (const each of Object.values(files)) rmSync(each, { force: true });
  const actual = PNG.sync.read(bytes);
  const reference = readReference(name);
  const difference = reference && differenceOf(actual, reference);
  if (difference && !difference.isDifferent) return null;
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(files.actual, bytes);
  if (!reference) {
    return `There is no accepted picture ${name}; what is drawn is ${pathOf(files.actual)}. ${HOW_TO_ACCEPT}`;
  }
  writeFileSync(files.reference, PNG.sync.write(reference));
  writeFileSync(files.difference, PNG.sync.write(difference.picture));
  const size = ({ width, height }) => `${width} × ${height}`;
  const sizes =
    size(actual) === size(reference)
      ? ''
      : `, and is ${size(actual)} instead of ${size(reference)}`;
  const names = Object.values(files).map(pathOf).join(', ');
  return `${name} differs in ${difference.changed} pixels${sizes}: ${names}. ${HOW_TO_ACCEPT}`;
}
