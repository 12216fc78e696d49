import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Comment } from '../api/wire.ts';
import { RecentActs } from './recent-acts.ts';

const comment = (fields: Partial<Comment> = {}): Comment =>
  ({
    id: '1',
    content: 'old',
    html: '',
    flags: [],
    edited_at: null,
    likes: 1,
    ...fields,
  }) as Comment;

let scopes = 0;

/** Acts of a scope of its own, on a clock that the test moves. */
function newActs() {
  const clock = { nowMs: 1_000 };
  scopes += 1;
  return { clock, acts: new RecentActs(`test-${scopes}`, () => clock.nowMs) };
}

test('later edit replaces the text', () => {
  const { acts } = newActs();
  acts.rememberEdit(comment({ content: 'new', edited_at: 5 }));
  assert.equal(acts.applyTo(comment()).content, 'new');
  assert.equal(acts.applyTo(comment({ content: 'newer', edited_at: 6 })).content, 'newer');
});

test('own reaction is counted', () => {
  const { acts } = newActs();
  acts.rememberCounts('1', { likes: 2, dislikes: 0 });
  assert.equal(acts.applyTo(comment()).likes, 2);
  assert.equal(acts.applyTo(comment({ id: '2' })).likes, 1);
});

test('removed comment is a tombstone until it is forgotten', () => {
  const { acts } = newActs();
  acts.rememberRemoval('1');
  assert.equal(acts.applyTo(comment()).state, 'deleted');
  acts.forgetRemoval('1');
  assert.equal(acts.applyTo(comment()).content, 'old');
});

test('acts expire', () => {
  const { acts, clock } = newActs();
  acts.rememberPost(comment());
  acts.rememberCounts('1', { likes: 2, dislikes: 0 });
  clock.nowMs += 10_000;
  assert.equal(acts.applyTo(comment()).likes, 1, 'a reaction after 10 s');
  assert.equal(acts.posts().length, 1);
  clock.nowMs += 110_000;
  assert.equal(acts.posts().length, 0, 'a post after 120 s');
});

test('forgotten post is gone', () => {
  const { acts } = newActs();
  acts.rememberPost(comment());
  acts.forgetPost('1');
  assert.deepEqual(acts.posts(), []);
});
