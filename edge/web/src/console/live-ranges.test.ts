import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACTIVITY_KINDS, listOf, parseRange, total } from './live-ranges.ts';

const point = (at: number, posts: number) => ({
  at,
  posts,
  held: 0,
  rejected: 0,
  reports: 0,
  reactions: 1,
});

test('an address names a range, and the hour is the first', () => {
  assert.equal(parseRange('month'), 'month');
  assert.equal(parseRange('year'), 'hour');
  assert.equal(parseRange(undefined), 'hour');
});

test('a total is the sum of its points', () => {
  const points = [point(0, 1), point(60_000, 2)];
  assert.equal(total(points, 'posts'), 3);
  assert.equal(total(points, 'reactions'), 2);
  assert.equal(total([], 'held'), 0);
});

test('a number leads to what it counts where a list exists', () => {
  const points = [point(new Date(2026, 2, 9, 23, 59).getTime(), 1)];
  assert.deepEqual(
    ACTIVITY_KINDS.map((kind) => listOf(kind, points, true)),
    ['#/comments?from=2026-03-09', '#/held', '#/audit?action=reject', '#/reported', null],
  );
  assert.equal(listOf('posts', points, false), null);
  assert.equal(listOf('posts', [], true), null);
});
