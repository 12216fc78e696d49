import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addPage,
  chosen,
  EMPTY,
  moveByKey,
  open,
  putBack,
  type ReviewState,
  step,
  take,
  toggleMark,
} from './review-state.ts';
import type { QueueEntry } from './wire.ts';

const entry = (id: string) => ({ comment: { id } }) as QueueEntry;
const page = (...ids: string[]) => ({
  data: ids.map(entry),
  page: { next: null, has_more: false },
  count: ids.length,
});
const ids = (state: ReviewState) => state.entries.map(({ comment }) => comment.id).join('');
const queue = (...names: string[]) => addPage(EMPTY, page(...names));

test('the first entry is open, and a page more brings nothing twice', () => {
  const state = queue('a', 'b');
  assert.equal(state.current, 'a');
  assert.equal(ids(addPage(state, page('b', 'c', 'd'), new Set(['d']))), 'abc');
});

test('a decision opens the next entry, at the end the one before', () => {
  const { state, taken } = take(open(queue('a', 'b', 'c'), 'b'), ['b']);
  assert.deepEqual([ids(state), state.current, state.count], ['ac', 'c', 2]);
  const end = take(state, ['c']);
  assert.equal(end.state.current, 'a');
  assert.equal(take(end.state, ['a']).state.current, null);
  assert.deepEqual([taken[0]?.index, taken.length], [1, 1]);
});

test('marked entries are decided together and come back to their places', () => {
  let state = toggleMark(toggleMark(queue('a', 'b', 'c', 'd'), 'd'), 'b');
  assert.deepEqual(chosen(state), ['b', 'd']);
  const done = take(state, chosen(state));
  assert.deepEqual([ids(done.state), done.state.marked.size], ['ac', 0]);
  state = putBack(done.state, done.taken);
  assert.deepEqual([ids(state), state.current, state.count], ['abcd', 'b', 4]);
  assert.equal(ids(putBack(state, done.taken)), 'abcd');
  assert.deepEqual(chosen(state), ['b']);
});

test('steps stop at both ends', () => {
  assert.equal(step(queue('a', 'b'), 5).current, 'b');
  assert.equal(step(queue('a', 'b'), -1).current, 'a');
  assert.equal(step(EMPTY, 1).current, null);
});

test('shift marks the open entry and goes on', () => {
  const state = moveByKey(queue('a', 'b'), 'j', true);
  assert.deepEqual([[...(state?.marked ?? [])], state?.current], [['a'], 'b']);
  assert.equal(moveByKey(EMPTY, 'x', false)?.marked.size, 0);
  assert.equal(moveByKey(EMPTY, 'q', false), null);
});

test('what another moderator has is opened last', () => {
  const leased = (id: string, holder: string) =>
    ({ comment: { id }, leased_by: { id: holder, name: 'X' } }) as QueueEntry;
  const entries = [leased('a', '2'), leased('b', '1'), leased('c', '2'), entry('d')];
  const state = addPage({ ...EMPTY, reader: '1' }, { ...page(), data: entries, count: 4 });
  assert.equal(state.current, 'b');
  const second = take(state, ['b']).state;
  assert.equal(second.current, 'd');
  assert.equal(take(second, ['d']).state.current, 'c');
});
