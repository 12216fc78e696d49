import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const STYLE_FOLDER = import.meta.dirname;

for (const name of readdirSync(STYLE_FOLDER).filter((each) => each.endsWith('.css'))) {
  const css = readFileSync(join(STYLE_FOLDER, name), 'utf8');

  test(`${name} does not depend on the root font of the page`, () =>
    assert.doesNotMatch(css, /[\d.]rem\b/));

  test(`${name} asks for the width of the element, not of the window`, () =>
    assert.doesNotMatch(css, /@media[^{]*width/));
}
