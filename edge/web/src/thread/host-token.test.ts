import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostToken, type TokenSource } from './host-token.ts';

function hostToken(source: TokenSource) {
  const taken: (string | null)[] = [];
  return { taken, token: new HostToken(source, (each) => taken.push(each)) };
}

test('a text is there at once', async () => {
  const { taken, token } = hostToken('a');
  assert.equal(token.current, 'a');
  assert.equal(await token.fetch(), false, 'there is nothing to ask');
  token.set('b');
  assert.deepEqual(taken, ['b']);
});

test('a function is asked once at a time, and again later', async () => {
  let calls = 0;
  const { taken, token } = hostToken(async () => {
    calls += 1;
    return `token ${calls}`;
  });
  assert.deepEqual(await Promise.all([token.fetch(), token.fetch()]), [true, true]);
  assert.equal(calls, 1);
  assert.equal(await token.fetch(), true);
  assert.deepEqual(taken, ['token 1', 'token 2']);
});

test('a function is asked when the comments are loaded, not before', async () => {
  let calls = 0;
  const { token } = hostToken(null);
  token.set(async () => `token ${++calls}`);
  assert.equal(calls, 0);
  token.start();
  await token.isKnown();
  assert.equal(token.current, 'token 1');
});

test('the same token again is none', async () => {
  const { token } = hostToken(async () => 'a');
  assert.equal(await token.fetch(), true);
  assert.equal(await token.fetch(), false);
});

test('what a former function answers is ignored', async () => {
  let answer: (token: string) => void = () => undefined;
  const { taken, token } = hostToken(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  const asked = token.fetch();
  token.set('b');
  answer('a');
  assert.equal(await asked, false);
  assert.deepEqual(taken, ['b']);
});

test('an error of the page changes nothing', async (context) => {
  context.mock.method(console, 'error', () => undefined);
  const { taken, token } = hostToken(() => Promise.reject(new Error('offline')));
  assert.equal(await token.fetch(), false);
  assert.deepEqual(taken, []);
});
