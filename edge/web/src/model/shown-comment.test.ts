import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Comment, Reaction } from '../api/wire.ts';
import { reactionStateWith, tombstoneOf } from './comment-changes.ts';
import { isTombstone } from './shown-comment.ts';

describe('reaction state', () => {
  const cases: [Reaction | null, Reaction | null, number, number][] = [
    [null, 'like', 6, 3],
    ['like', null, 4, 3],
    ['like', 'dislike', 4, 4],
    ['dislike', 'like', 6, 2],
    ['like', 'like', 5, 3],
  ];
  for (const [reaction, wanted, likes, dislikes] of cases) {
    test(`${reaction} to ${wanted}`, () =>
      assert.deepEqual(reactionStateWith({ likes: 5, dislikes: 3, reaction }, wanted), {
        likes,
        dislikes,
        reaction: wanted,
      }));
  }

  test('counts are never negative', () =>
    assert.equal(reactionStateWith({ likes: 0, dislikes: 0, reaction: 'like' }, null).likes, 0));
});

test('tombstone keeps its place', () => {
  const comment = { id: '1', floor: 3, content: 'x', author: { id: '7', name: 'Ann' } } as Comment;
  const tombstone = tombstoneOf(comment);
  assert.ok(isTombstone(tombstone));
  assert.equal(tombstone.floor, 3);
  assert.equal(tombstone.content, '');
});
