// The reading of documents itself: its blocks, their commands, and what counts as the same shape.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertShape, blocksOf, commandsOf, shownJson } from './page.mjs';

test('blocks are found in lists, with their language', () => {
  const text =
    '```sh\na\n```\n\n1. A list:\n   ```toml\n   b = 1\n\n   c = 2\n   ```\n\n```\nd\n```\n';
  assert.deepEqual(blocksOf(text), [
    { language: 'sh', body: 'a\n' },
    { language: 'toml', body: 'b = 1\n\nc = 2\n' },
    { language: '', body: 'd\n' },
  ]);
});

test('command is as long as a shell needs it', () => {
  const body = "# what it is\na b \\\n  c   # why\n\n{ d\n  e; } | f\ng 'h\ni'\nj\n";
  const commands = ['a b \\\n  c   # why', '{ d\n  e; } | f', "g 'h\ni'", 'j'];
  assert.deepEqual(commandsOf(body), commands);
  assert.throws(() => commandsOf('a "b\n'));
});

for (const [shown, answer, fits] of [
  ['{"id":"7","n":1}', { id: '8', n: 2 }, true],
  ['{"id":"7"}', { id: '8', n: 2 }, false],
  ['{"id":"7",…}', { id: '8', n: 2 }, true],
  ['{"id":"7",…}', { n: 2 }, false],
  ['{"n":1}', { n: '1' }, false],
  ['{"n":null}', { n: 1 }, false],
  ['{"url":"/a/….jpg"}', { url: '/a/b.jpg' }, true],
  ['{"url":"/a/….jpg"}', { url: '/a/b.png' }, false],
  ['{"data":[{"id":"7"}]}', { data: [{ id: '8' }, {}] }, true],
  ['{"data":[{"id":"7"}]}', { data: [] }, false],
  ['{"data":[]}', { data: {} }, false],
]) {
  test(`${shown} ${fits ? 'is' : 'is not'} the shape of ${JSON.stringify(answer)}`, () => {
    const compare = () => assertShape(shownJson(shown), answer);
    if (fits) compare();
    else assert.throws(compare);
  });
}
