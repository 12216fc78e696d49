import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addPage,
  chosen,
  EMPTY,
  goOn,
  isOwn,
  moveByKey,
  open,
  othersHave,
  overrule,
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

const leased = (id: string, holder: string) =>
  ({ comment: { id }, leased_by: { id: holder, name: `N${holder}` } }) as QueueEntry;
const of = (...data: QueueEntry[]) => ({ ...page(), data, count: data.length });
/** The queue of the moderator 1. */
const queueOf1 = (...data: QueueEntry[]) => addPage({ ...EMPTY, reader: '1' }, of(...data));
const holders = (state: ReviewState) =>
  state.entries.map(({ leased_by }) => (leased_by ? leased_by.name || '?' : '-')).join(' ');

test('what another moderator has is opened last', () => {
  const state = queueOf1(leased('a', '2'), leased('b', '1'), leased('c', '2'), entry('d'));
  assert.equal(state.current, 'b');
  const second = take(state, ['b']).state;
  assert.equal(second.current, 'd');
  assert.equal(take(second, ['d']).state.current, 'c');
});

test('what another moderator took after it was read is left, and the next free one is open', () => {
  const before = queueOf1(entry('a'), entry('b'), entry('c'), entry('d'));
  const now = of(leased('a', '2'), leased('b', '3'), leased('c', '1'), entry('d'));
  const state = othersHave(before, ['a'], now);
  assert.deepEqual([holders(state), state.current], ['N2 N3 - -', 'c']);
  assert.equal(take(step(state, 1), ['d']).state.current, 'c');
  assert.equal(step(state, -1).current, 'c', 'keys pass over what others have');
  const unknown = othersHave(before, ['a', 'b'], null);
  assert.deepEqual([holders(unknown), unknown.current], ['? ? - -', 'c']);
  assert.equal(holders(isOwn(unknown, 'a')), '- ? - -');
  const lost = othersHave(before, ['a'], of(entry('a')));
  assert.equal(holders(lost), '? - - -', 'the lease that was refused is newer than the page');
});

test('what was chosen stays open also where another moderator has it, until one goes on', () => {
  const before = open(queueOf1(entry('a'), entry('b'), entry('c')), 'b');
  const state = othersHave(before, ['b'], of(leased('b', '2')));
  assert.deepEqual([state.current, holders(state)], ['b', '- N2 -']);
  assert.deepEqual([state.overruled, overrule(state).overruled], [null, 'b']);
  const next = goOn(state);
  assert.deepEqual([next.current, next.isChosen], ['c', false]);
  const all = othersHave(state, ['a', 'b', 'c'], null);
  assert.equal(goOn(all).current, 'b', 'there is no free one');
});

test('what was left to another moderator comes back without being opened', () => {
  const { state, taken } = take(queue('a', 'b', 'c'), ['a']);
  const back = putBack(state, taken, false);
  assert.deepEqual([ids(back), back.current, back.count], ['abc', 'b', 3]);
  const last = take(queue('a'), ['a']);
  assert.equal(putBack(last.state, last.taken, false).current, 'a');
});
