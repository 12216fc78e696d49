import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commentHref, listHref, memberHref, parseRoute } from './route.ts';

test('an address names a section, an id and a filter', () => {
  const cases: [string, unknown][] = [
    ['', { section: 'held', id: null, filter: {} }],
    ['#/nothing', { section: 'held', id: null, filter: {} }],
    ['#/audit?actor=7&action=', { section: 'audit', id: null, filter: { actor: '7' } }],
    ['#/rejected?q=x', { section: 'rejected', id: null, filter: { q: 'x' } }],
    ['#/members/7', { section: 'members', id: '7', filter: {} }],
    ['#/members/%E0', { section: 'members', id: null, filter: {} }],
    ['#/comments?q=a%3Fb', { section: 'comments', id: null, filter: { q: 'a?b' } }],
  ];
  for (const [hash, expected] of cases) assert.deepEqual(parseRoute(hash), expected, hash);
});

test('an address that was made is read again', () => {
  const filter = { q: '盖楼 & co', member: '7' };
  const made = listHref('comments', { ...filter, state: '', subject: null });
  assert.deepEqual(parseRoute(made), { section: 'comments', id: null, filter });
  assert.equal(listHref('words'), '#/words');
  assert.equal(parseRoute(memberHref('a/b')).id, 'a/b');
  assert.deepEqual(parseRoute(commentHref('7')), { section: 'comments', id: '7', filter: {} });
});
