import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Frame, framesOf, isGap, rowsOf } from './frames.ts';

const path = (length: number) => Array.from({ length }, (_, at) => String(at + 1));

/** `[[1] 2 ..8] 11`: frames in brackets, numbers of floors, a gap with its count. */
function drawing(frame: Frame<string> | null): string {
  if (!frame) return '';
  const rows = frame.rows.map((row) => (isGap(row) ? `..${row.hidden.length}` : row.number));
  return `[${[drawing(frame.inside), ...rows].filter(Boolean).join(' ')}]`;
}

// The same cases as in `origin/src/domain/building.rs`.
for (const [length, missing, expected] of [
  [1, [], ''],
  [2, [], '[1]'],
  [4, [], '[[[1] 2] 3]'],
  [6, [], '[[[[[1] 2] 3] 4] 5]'],
  [7, [], '[[[[[1] 2 ..1] 4] 5] 6]'],
  [16, [], '[[[[[1] 2 ..10] 13] 14] 15]'],
  [16, [2, 13], '[[[1 ..12] 14] 15]'],
  [4, [1], '[[[..1] 2] 3]'],
  [4, [1, 2, 3], '[..3]'],
] as const) {
  test(`a chain of ${length} without [${missing}] is ${expected || 'nothing'}`, () => {
    const find = (id: string) => (missing.some((each) => String(each) === id) ? undefined : id);
    assert.equal(drawing(framesOf(rowsOf(path(length), find))), expected);
  });
}

test('an opened gap shows its next floors, the oldest first', () => {
  const open = (opened: number) =>
    drawing(framesOf(rowsOf(path(30), (id) => id, opened))).replaceAll(/[[\]]/g, '');
  assert.equal(open(2), '1 2 3 4 ..22 27 28 29');
  assert.equal(open(24), path(29).join(' '));
  assert.equal(open(100), path(29).join(' '));
});
