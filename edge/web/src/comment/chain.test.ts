import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChainLink } from '../model/shown-comment.ts';
import { chainOf } from './chain.ts';

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
