// Writes a picture as a PNG of at most 256 colours, which is a third of the size of one with all. The frequent colours stay
// exact; a rare one, of the edge of a letter, becomes the nearest that is there.

import { crc32, deflateSync } from 'node:zlib';

const MAX_COLORS = 256;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const DEPTH_AND_PALETTE_TYPE = [8, 3, 0, 0, 0];

const channels = (color) => [color >> 16, (color >> 8) & 255, color & 255];

/** The bytes of a PNG with these RGBA pixels, which are opaque. */
export function palettePng({ width, height, data }) {
  const colors = new Uint32Array(width * height);
  for (let at = 0; at < colors.length; at += 1) colors[at] = data.readUIntBE(at * 4, 3);
  const { palette, indexes } = paletteOf(colors);
  const rows = Buffer.alloc((width + 1) * height);
  for (let at = 0; at < colors.length; at += 1) {
    // Each row begins with the number of its filter: none.
    rows[at + Math.floor(at / width) + 1] = indexes.get(colors[at]);
  }
  const header = Buffer.alloc(8);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', Buffer.concat([header, Buffer.from(DEPTH_AND_PALETTE_TYPE)])),
    chunk('PLTE', Buffer.from(palette.flatMap(channels))),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type, content) {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** The palette with the smallest error that has room, and for each colour its place in it. */
function paletteOf(colors) {
  const counts = new Map();
  for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
  const byFrequency = [...counts].sort((a, b) => b[1] - a[1]).map(([color]) => color);
  for (let tolerance = 0; ; tolerance += 1) {
    const found = paletteWithin(tolerance, byFrequency);
    if (found) return found;
  }
}

function paletteWithin(tolerance, byFrequency) {
  const palette = [];
  const indexes = new Map();
  for (const color of byFrequency) {
    const nearest = nearestOf(palette, color);
    if (nearest && nearest.distance <= tolerance) indexes.set(color, nearest.index);
    else if (palette.length < MAX_COLORS) indexes.set(color, palette.push(color) - 1);
    else return null;
  }
  return { palette, indexes };
}

function nearestOf(palette, color) {
  let nearest = null;
  for (const [index, each] of palette.entries()) {
    const distance = distanceOf(each, color);
    if (!nearest || distance < nearest.distance) nearest = { index, distance };
  }
  return nearest;
}

const distanceOf = (a, b) =>
  Math.max(
    Math.abs((a >> 16) - (b >> 16)),
    Math.abs(((a >> 8) & 255) - ((b >> 8) & 255)),
    Math.abs((a & 255) - (b & 255)),
  );
