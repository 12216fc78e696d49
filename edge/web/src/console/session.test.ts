import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSession } from './session.ts';

const tokenOf = (claims: object) =>
  `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;

test('a moderator or an admin has a session until the token ends', () => {
  const token = tokenOf({ name: '小明', role: 'admin', exp: 100 });
  assert.deepEqual(readSession(` ${token}\n`, 99_000), { token, name: '小明', role: 'admin' });
  assert.equal(readSession(token, 100_000), null);
  assert.equal(readSession(tokenOf({ name: 'Mo', role: 'moderator' }), 1)?.role, 'moderator');
});

test('a member, and what is no token, have none', () => {
  for (const token of ['', 'x', 'a.b.c', 'a.bnVsbA.c', tokenOf({ role: 'member' }), tokenOf([])]) {
    assert.equal(readSession(token), null, token);
  }
});
