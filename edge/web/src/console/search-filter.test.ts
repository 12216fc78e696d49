import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  localMinute,
  minuteAt,
  minuteOfField,
  searchFilter,
  searchParameters,
} from './search-filter.ts';

test('an address has the fields of the form, and nothing else counts', () => {
  assert.deepEqual(searchFilter({ q: 'a', state: '', other: 'x' }), { q: 'a' });
  const reported = { member: '7', reported: 'true' };
  assert.deepEqual(searchFilter(reported), reported);
  assert.deepEqual(searchFilter({ reported: 'true' }), {}, 'of a member alone');
  assert.deepEqual(searchFilter({ ...reported, reported: 'false' }), { member: '7' });
});

test('both days are included, also where the clock changes', () => {
  const { from, to, q } = searchParameters({ q: 'a', from: '2026-03-29', to: '2026-03-29' });
  assert.equal(from, String(new Date(2026, 2, 29).getTime()));
  assert.equal(to, String(new Date(2026, 2, 30).getTime()));
  assert.equal(q, 'a');
});

test('minutes are those of UTC, and the last one is not included', () => {
  const at = Date.UTC(2026, 10, 26, 20, 30);
  assert.equal(minuteAt(at + 59_999), '2026-11-26T20:30Z');
  const { from, to } = searchParameters({ from: minuteAt(at), to: minuteAt(at + 60_000) });
  assert.deepEqual([from, to], [String(at), String(at + 60_000)]);
  assert.equal(searchParameters({ from: '2026-13-26T20:30Z' }).from, null);
});

test('a minute is the same one in a field of the form', () => {
  for (const at of [Date.UTC(2026, 10, 26, 20, 30), Date.UTC(2026, 6, 1)]) {
    assert.equal(minuteOfField(localMinute(at)), minuteAt(at));
  }
  assert.equal(minuteOfField(''), '');
});

test('what is no day is left out', () => {
  assert.deepEqual(searchParameters({ from: 'soon', state: 'review' }), {
    state: 'review',
    from: null,
    to: null,
  });
});
