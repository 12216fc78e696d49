import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addOffer,
  lastOffer,
  markDone,
  removeOffer,
  UNDO_OFFER_MS,
  type UndoOffer,
} from './undo.ts';

const offer = (at: number): UndoOffer => ({
  label: 'Hide',
  at,
  done: Promise.resolve(async () => {}),
  isDone: false,
});

test('the last act can be taken back for ten seconds, also before the server has answered', () => {
  const [first, second] = [offer(1_000), offer(2_000)];
  const offers = addOffer(addOffer([], first), second);
  assert.equal(lastOffer(offers, 2_000), second);
  assert.equal(lastOffer(offers, 2_000 + UNDO_OFFER_MS), null);
  assert.equal(lastOffer([], 0), null);
  const [, done] = markDone(offers, second);
  assert.equal(done?.isDone, true);
  assert.deepEqual(done && removeOffer(markDone(offers, second), second), [first]);
});

test('few offers are kept', () => {
  let offers: UndoOffer[] = [];
  for (let at = 0; at < 50; at += 1) offers = addOffer(offers, offer(at));
  assert.deepEqual([offers.length, offers.at(-1)?.at], [20, 49]);
});
