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

test('a number leads to the list of what it counts, with its time where the list has one', () => {
  const at = Date.UTC(2026, 2, 9, 22, 0);
  const points = [point(at, 1), point(at + 3_600_000, 2)];
  assert.deepEqual(
    ACTIVITY_KINDS.map((kind) => listOf(kind, points, 'day', true)),
    [
      '#/comments?from=2026-03-09T22%3A00Z&to=2026-03-10T00%3A00Z',
      '#/held',
      '#/audit?action=reject',
      '#/reported',
      null,
    ],
  );
  const minute = listOf('posts', points.slice(0, 1), 'hour', true);
  assert.equal(minute, '#/comments?from=2026-03-09T22%3A00Z&to=2026-03-09T22%3A01Z');
  assert.equal(listOf('posts', points, 'day', false), null);
  assert.equal(listOf('posts', [], 'hour', true), null);
});
