import assert from 'node:assert/strict';
import { test } from 'node:test';
import { searchFilter, searchParameters } from './search-filter.ts';

test('an address has the fields of the form, and nothing else counts', () => {
  assert.deepEqual(searchFilter({ q: 'a', state: '', other: 'x' }), { q: 'a' });
});

test('both days are included, also where the clock changes', () => {
  const { from, to, q } = searchParameters({ q: 'a', from: '2026-03-29', to: '2026-03-29' });
  assert.equal(from, String(new Date(2026, 2, 29).getTime()));
  assert.equal(to, String(new Date(2026, 2, 30).getTime()));
  assert.equal(q, 'a');
});

test('what is no day is left out', () => {
  assert.deepEqual(searchParameters({ from: 'soon', state: 'review' }), {
    state: 'review',
    from: null,
    to: null,
  });
});
