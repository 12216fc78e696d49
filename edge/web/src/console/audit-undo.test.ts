import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayUndo, withNewer } from './audit-undo.ts';
import type { AuditRecord } from './wire.ts';

const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;

function record(id: string, of: string, ageMs = 0, kind = 'comment'): AuditRecord {
  const actor = { id: '7', name: 'Mo' };
  const target = { kind, id: of };
  const at = NOW_MS - ageMs;
  return { id, at, actor, action: 'hide', target, reason: null, before: null, after: null };
}

const undoable = (records: AuditRecord[]) =>
  records.filter((each) => mayUndo(each, records, NOW_MS)).map(({ id }) => id);

test('last entry of each comment', () =>
  assert.deepEqual(undoable([record('4', 'a'), record('3', 'b'), record('2', 'a')]), ['4', '3']));

test('entry of a member with the same number as a comment stands against none', () =>
  assert.deepEqual(undoable([record('2', '9', 0, 'member'), record('1', '9')]), ['1']));

test('entry is undone for a day', () =>
  assert.deepEqual(undoable([record('2', 'a', DAY_MS - 1), record('1', 'b', DAY_MS)]), ['2']));

test('newer entries are put on top, once', () => {
  const [first, second, third] = [record('1', 'a'), record('2', 'b'), record('3', 'a')];
  assert.deepEqual(withNewer([second, first], [third, second, first]), [third, second, first]);
});
