import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OwnHistory } from './own-history.ts';

const at = (...times: number[]) => times.map((created_at) => ({ id: `${created_at}`, created_at }));
const timesOf = (items: { created_at: number }[]) => items.map(({ created_at }) => created_at);

test('pending comment is among those of its time', () => {
  const history = new OwnHistory(at(3, 9, 5));
  assert.deepEqual(timesOf(history.addPage(at(8, 6), false)), [9, 8, 6]);
  assert.deepEqual(timesOf(history.addPage(at(4, 2), false)), [5, 4, 3, 2]);
});

test('last page brings all that is left', () => {
  const history = new OwnHistory(at(1));
  assert.deepEqual(timesOf(history.addPage(at(4), false)), [4]);
  assert.deepEqual(timesOf(history.addPage([], true)), [1]);
});

test('page without a comment brings nothing while there is more', () => {
  assert.deepEqual(new OwnHistory(at(1)).addPage([], false), []);
});

test('comment whose edit is held is shown once', () => {
  const history = new OwnHistory(at(7));
  assert.deepEqual(timesOf(history.addPage(at(8, 7), true)), [8, 7]);
});
