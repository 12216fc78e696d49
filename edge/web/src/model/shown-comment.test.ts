import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Comment, Reaction } from '../api/wire.ts';
import { reactionStateWith, tombstoneOf } from './comment-changes.ts';
import { type ChainLink, chainOf, isTombstone } from './shown-comment.ts';

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

describe('chain of a comment', () => {
  /** 1 ← 2 ← 3 ← 4, as lists have them outside of buildings. */
  const thread: ChainLink[] = ['1', '2', '3', '4'].map((id, at, all) => ({
    id,
    parent_id: all[at - 1] ?? null,
    root_id: '1',
  }));
  const among = (ids: string) => (id: string) =>
    ids.includes(id) ? thread.find((each) => each.id === id) : undefined;
  const check = (
    name: string,
    link: ChainLink | undefined,
    ids: string,
    expected: string[] | undefined,
  ) =>
    test(name, () => {
      assert.ok(link);
      assert.deepEqual(chainOf(link, among(ids)), expected);
    });
  check('a root is its own', thread[0], '', ['1']);
  check('an answer to the root needs no other comment', thread[1], '', ['1', '2']);
  check('others need what they answer', thread[3], '23', ['1', '2', '3', '4']);
  check('one that is missing leaves it unknown', thread[3], '3', undefined);
  check('a path says it all', { ...(thread[3] as ChainLink), path: ['1', '2', '3', '4'] }, '', [
    '1',
    '2',
    '3',
    '4',
  ]);
  const flat = { id: '9', parent_id: '8', root_id: '9' };
  check('in a flat list it is the comment and what it answers', flat, '', ['8', '9']);
  check('also where its path is the comment alone', { ...flat, path: ['9'] }, '', ['8', '9']);
});
