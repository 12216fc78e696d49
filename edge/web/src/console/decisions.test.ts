import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Comment, CommentState } from '../api/wire.ts';
import { decided, decisionsFor } from './decisions.ts';

const comment = (state: CommentState, flags: Comment['flags'] = []) =>
  ({ state, flags }) as unknown as Comment;

test('each state allows its decisions', () => {
  const cases: [CommentState, string][] = [
    ['published', 'hide h, delete d, feature f'],
    ['review', 'approve a, reject r, hide h, delete d'],
    ['rejected', 'approve a, hide h, delete d'],
    ['hidden', 'restore a, delete d'],
    ['deleted', 'restore a'],
  ];
  for (const [state, expected] of cases) {
    const found = decisionsFor(comment(state)).map(({ action, key }) => `${action} ${key}`);
    assert.equal(found.join(', '), expected);
  }
  const featured = decisionsFor(comment('published', ['pinned', 'featured']));
  assert.deepEqual(
    featured.map(({ action }) => action),
    ['hide', 'delete', 'unfeature'],
  );
});

test('a decision is shown before the server has answered', () => {
  assert.equal(decided(comment('hidden'), 'restore').state, 'published');
  assert.equal(decided(comment('review'), 'reject').state, 'rejected');
  const flags = decided(comment('published', ['pinned']), 'feature').flags;
  assert.deepEqual(flags, ['pinned', 'featured']);
  assert.deepEqual(decided(comment('published', flags), 'unfeature').flags, ['pinned']);
});
