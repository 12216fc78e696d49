import assert from 'node:assert/strict';
import { test } from 'node:test';
import { directionOf, isFarEnough, isSideways } from './swipe-move.ts';

test('a finger that goes up or down, or hardly moves, scrolls', () => {
  const cases: [x: number, y: number, expected: boolean][] = [
    [8, 0, false],
    [12, 0, true],
    [-40, 20, true],
    [40, 40, false],
    [0, 200, false],
  ];
  for (const [x, y, expected] of cases) assert.equal(isSideways({ x, y }), expected, `${x} ${y}`);
});

test('a swipe needs a way, and has a direction', () => {
  assert.equal(isFarEnough({ x: 95, y: 0 }), false);
  assert.equal(isFarEnough({ x: -96, y: 0 }), true);
  assert.equal(directionOf({ x: 96, y: 0 }), 'right');
  assert.equal(directionOf({ x: -96, y: 0 }), 'left');
});
