import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { matchingNames, mentionedIn, unfinishedAt } from './mention-names.ts';

const NAMES = ['Ann', 'Hannah Weiss', 'Diego', '林小满', 'Weiwei'].map((name, at) => ({
  id: String(at + 1),
  name,
}));

describe('unfinished mention', () => {
  for (const [text, query] of [
    ['@', ''],
    ['hello @an', 'an'],
    ['你好@小', '小'],
    ['@hannah w', 'hannah w'],
    ['(@an', 'an'],
    ['ann@example', null],
    ['hello', null],
    ['@ann and then', null],
    ['@an\n', null],
  ] as const) {
    test(JSON.stringify(text), () => {
      const found = unfinishedAt(text, text.length);
      assert.equal(found?.query ?? null, query);
      if (found) assert.equal(text[found.from], '@');
    });
  }
});

test('names that begin with the query come first', () => {
  const found = (query: string) => matchingNames(NAMES, query).map(({ name }) => name);
  assert.deepEqual(found('an'), ['Ann', 'Hannah Weiss']);
  assert.deepEqual(found('wei'), ['Weiwei', 'Hannah Weiss']);
  assert.deepEqual(found('小'), ['林小满']);
  assert.equal(found('').length, 5);
  assert.deepEqual(found('zz'), []);
});

test('who was picked and taken out again is not mentioned', () => {
  assert.deepEqual(mentionedIn('Hi @Ann and Diego', NAMES), ['1']);
  assert.deepEqual(mentionedIn('@Ann @Ann', [...NAMES, ...NAMES]), ['1']);
});
