import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePacks } from './owo.ts';

test('text and emoji of packs are taken, pictures are left out', () =>
  assert.deepEqual(
    parsePacks({
      Faces: { type: 'emoticon', container: [{ icon: 'OwO', text: 'what' }, { icon: '' }, null] },
      Emoji: { type: 'emoji', container: [{ icon: '🪜' }] },
      Stickers: { type: 'image', container: [{ icon: '<img src="https://a.example/b.png">' }] },
      Wrong: { type: 'emoji', container: [{ icon: '<img src=x>', text: 'x' }, { icon: 7 }] },
    }),
    [
      { name: 'Faces', emoji: [{ value: 'OwO', words: 'what' }] },
      { name: 'Emoji', emoji: [{ value: '🪜', words: '' }] },
    ],
  ));

for (const document of [null, 7, 'x', [], { Faces: null }, { Faces: { container: 'x' } }]) {
  test(`${JSON.stringify(document)} has no packs`, () =>
    assert.deepEqual(parsePacks(document), []));
}
