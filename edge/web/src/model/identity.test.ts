import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ReaderIdentity } from './identity.ts';
import { dropGuest, keepGuest, memberOf, moderatorTokenOf, readTokenClaims } from './member.ts';

const tokenOf = (claims: object) =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`;

test('claims are utf8', () =>
  assert.equal(readTokenClaims(tokenOf({ sub: '7', name: '盖楼 ü?>' })).name, '盖楼 ü?>'));

describe('broken token has no claims', () => {
  for (const token of ['', 'a', 'a.b.c', 'e30.bnVsbA.c', 'e30.!!!.c']) {
    test(`"${token}"`, () => assert.deepEqual(readTokenClaims(token), {}));
  }
});

test('only the host can name a moderator', () => {
  const identity = new ReaderIdentity('https://moderator.test', null);
  for (const [role, expected] of [
    ['moderator', true],
    ['admin', true],
    ['member', false],
    [undefined, false],
  ] as const) {
    identity.hostToken = tokenOf({ sub: '7', name: 'Mo', role });
    assert.equal(moderatorTokenOf(identity) === identity.hostToken, expected, role);
  }
  identity.hostToken = null;
  keepGuest(identity, { token: tokenOf({ role: 'admin' }), member: { id: '1', name: 'Ann' } });
  assert.equal(moderatorTokenOf(identity), null);
  dropGuest(identity);
});

test('host token wins over a guest', () => {
  const identity = new ReaderIdentity('https://identity.test', null);
  assert.deepEqual([identity.token, memberOf(identity)], [null, null]);
  keepGuest(identity, { token: 'guest', member: { id: '1', name: 'Ann' } });
  assert.equal(identity.token, 'guest');
  assert.equal(memberOf(identity)?.name, 'Ann');
  identity.hostToken = tokenOf({ sub: '7', name: 'Bob' });
  assert.equal(identity.token, identity.hostToken);
  assert.equal(memberOf(identity)?.id, '7');
  identity.hostToken = null;
  dropGuest(identity);
  assert.equal(identity.token, null);
});
