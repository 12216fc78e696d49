import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createdAt } from './comment-id.ts';

test('an id says when its comment was written', () => {
  assert.equal(createdAt('3561132209628798989'), 1_795_724_881_412);
  assert.equal(createdAt('0'), Date.UTC(2000, 0, 1));
});

test('what is no id says nothing', () => {
  for (const id of ['', 'abc', '-1', '1.5', '9'.repeat(20)]) assert.equal(createdAt(id), null, id);
});
