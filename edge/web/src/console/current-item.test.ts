import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idAfter, itemAt } from './current-item.ts';

const ITEMS = ['a', 'b', 'c'].map((id) => ({ id }));

test('a step ends at the ends of the list', () => {
  const cases: [chosen: string | null, places: number, expected: string][] = [
    [null, 0, 'a'],
    [null, 1, 'b'],
    ['b', 1, 'c'],
    ['c', 1, 'c'],
    ['a', -1, 'a'],
    ['gone', 0, 'a'],
  ];
  for (const [chosen, places, expected] of cases) {
    assert.equal(itemAt(ITEMS, chosen, places)?.id, expected, `${chosen} ${places}`);
  }
  assert.equal(itemAt([], null, 1), null);
});

test('what leaves the list is followed by the next one, or by the one before it', () => {
  assert.equal(idAfter(ITEMS, 'a'), 'b');
  assert.equal(idAfter(ITEMS, 'c'), 'b');
  assert.equal(idAfter([{ id: 'a' }], 'a'), null);
  assert.equal(idAfter(ITEMS, 'gone'), null);
});
