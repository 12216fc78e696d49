import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readToken } from './session.ts';

const tokenOf = (claims: object) =>
  `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;

test('a token says whose it is, until it ends', () => {
  const token = tokenOf({ sub: '7', name: '小明', exp: 100 });
  assert.deepEqual(readToken(` ${token}\n`, 99_000), {
    token,
    id: '7',
    name: '小明',
    expiresAt: 100_000,
  });
  assert.equal(readToken(token, 100_000), null);
  assert.equal(readToken(tokenOf({ sub: '7' }), 1)?.name, '');
});

test('what is no token belongs to no member', () => {
  for (const token of ['', 'x', 'a.b.c', 'a.bnVsbA.c', tokenOf({ name: 'Ann' }), tokenOf([])]) {
    assert.equal(readToken(token), null, token);
  }
});
