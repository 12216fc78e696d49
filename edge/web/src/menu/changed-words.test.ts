import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedWords } from './changed-words.ts';

test('what the next text does not have is found between what both have', () => {
  for (const [before, after, expected] of [
    ['I like tea', 'I like coffee', ['I like ', 'tea', '']],
    ['I do not like tea', 'I like tea', ['I ', 'do not ', 'like tea']],
    ['I like tea', 'I really like tea', ['I ', '', 'like tea']],
    ['same', 'same', ['same', '', '']],
    ['all gone', '', ['', 'all gone', '']],
    ['ab ab', 'ab ab ab', ['ab ab', '', '']],
    ['很好看的书', '很好看的电影', ['很好看的', '书', '']],
    ['👍🏽 yes', '👍🏿 yes', ['', '👍🏽', ' yes']],
  ] as const) {
    assert.deepEqual(changedWords(before, after, 'en'), expected, `${before} → ${after}`);
  }
});
