import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseColor } from './page-theme.ts';

for (const [text, luminance, alpha] of [
  ['rgb(255, 255, 255)', 1, 1],
  ['rgb(0, 0, 0)', 0, 1],
  ['rgba(0, 0, 0, 0)', 0, 0],
  ['rgba(255, 0, 0, 0.5)', 0.2126, 0.5],
  ['color(srgb 1 1 1)', 1, 1],
  ['color(display-p3 0 1 0 / 0.25)', 0.7152, 0.25],
  ['oklch(0.5 0.1 120)', 0.125, 1],
  ['oklab(1 0 0 / 0.9)', 1, 0.9],
  ['lab(100 0 0)', 1, 1],
  ['transparent', 0, 0],
] as const) {
  test(text, () => {
    const color = parseColor(text);
    assert.ok(Math.abs(color.luminance - luminance) < 0.001, `luminance ${color.luminance}`);
    assert.equal(color.alpha, alpha);
  });
}
