import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endSession, refreshToken, renewalDelay } from './account.ts';

const answering = (status: number, body: string) => async () => new Response(body, { status });

test('only a token is one', async () => {
  assert.equal(await refreshToken(answering(200, '{"token":"a.b.c","expires_at":1}')), 'a.b.c');
  assert.equal(await refreshToken(answering(401, '{"code":"token_invalid"}')), null);
  for (const body of ['', 'null', '{}', '{"token":7}', '<html>']) {
    assert.equal(await refreshToken(answering(200, body)), null, body);
  }
  assert.equal(await refreshToken(() => Promise.reject(new TypeError('away'))), null);
});

test('both calls send the cookie of this server', async () => {
  const sent: unknown[] = [];
  const send = async (url: unknown, init?: RequestInit) => {
    sent.push([url, init?.method, init?.credentials]);
    return new Response('{}');
  };
  await refreshToken(send);
  await endSession(send);
  await endSession(() => Promise.reject(new TypeError('away')));
  assert.deepEqual(sent, [
    ['/v1/auth/refresh', 'POST', 'same-origin'],
    ['/v1/auth/session', 'DELETE', 'same-origin'],
  ]);
});

test('another token is asked for a minute before the end', () => {
  assert.equal(renewalDelay(900_000, 0), 840_000);
  assert.equal(renewalDelay(900_000, 899_000), 0);
  assert.equal(renewalDelay(2_592_000_000, 0), 2_147_483_647);
});
