import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePacks, STICKER } from './owo.ts';

const BASE = 'https://blog.example/packs/owo.json';
const stickers = (...container: unknown[]) =>
  parsePacks({ Stickers: { type: 'image', container } }, BASE).flatMap(({ emoji }) => emoji);

test('text and emoji of packs are taken', () =>
  assert.deepEqual(
    parsePacks(
      {
        Faces: { type: 'emoticon', container: [{ icon: 'OwO', text: 'what' }, { icon: '' }, null] },
        Emoji: { type: 'emoji', container: [{ icon: '🪜' }] },
        Wrong: { type: 'emoji', container: [{ icon: '<img src=x>', text: 'x' }, { icon: 7 }] },
      },
      BASE,
    ),
    [
      { name: 'Faces', emoji: [{ value: 'OwO', words: 'what' }] },
      { name: 'Emoji', emoji: [{ value: '🪜', words: '' }] },
    ],
  ));

test('stickers have the address of their picture, in a tag or alone', () =>
  assert.deepEqual(
    stickers(
      { icon: '<img class="big" src="doge.png" onerror="alert(1)">', text: 'doge' },
      { icon: 'https://pictures.example/cat.webp', text: '开心 猫' },
    ),
    [
      { value: ':doge:', words: 'doge', picture: 'https://blog.example/packs/doge.png' },
      { value: ':开心-猫:', words: '开心 猫', picture: 'https://pictures.example/cat.webp' },
    ],
  ));

for (const [what, entry] of Object.entries({
  'no name': { icon: '/a.png', text: '' },
  'a name of signs alone': { icon: '/a.png', text: '_*_' },
  'a name that is too long': { icon: '/a.png', text: 'x'.repeat(41) },
  'no picture': { text: 'doge' },
  'a script for a picture': { icon: 'javascript:alert(1)', text: 'doge' },
  'a picture in its address': { icon: 'data:image/svg+xml,x', text: 'doge' },
})) {
  test(`sticker with ${what} is left out`, () => assert.deepEqual(stickers(entry), []));
}

test('stickers are found in a text', () => {
  const found = [...'At 12:30:45 :doge: and :开心-猫:! http://a:b'.matchAll(STICKER)];
  assert.deepEqual(
    found.map(([, name]) => name),
    ['30', 'doge', '开心-猫'],
  );
});

for (const document of [null, 7, 'x', [], { Faces: null }, { Faces: { container: 'x' } }]) {
  test(`${JSON.stringify(document)} has no packs`, () =>
    assert.deepEqual(parsePacks(document, BASE), []));
}
