import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { safeUrl } from './safe-url.ts';

before(() => {
  Object.assign(globalThis, { location: { href: 'https://site.example/a/page' } });
});

for (const [text, url] of [
  ['https://e.example/x', 'https://e.example/x'],
  ['/picture.png', 'https://site.example/picture.png'],
  ['javascript:alert(1)', null],
  [' java\nscript:alert(1)', null],
  ['data:text/html,x', null],
  ['mailto:a@e.example', null],
  ['https://', null],
] as const) {
  test(JSON.stringify(text), () => assert.equal(safeUrl(text), url));
}

test('other protocols by permission', () =>
  assert.equal(safeUrl('mailto:a@e.example', ['mailto:']), 'mailto:a@e.example'));
