// The rate limits of a deployment, which the edge applies before it forwards a request: `wrangler dev`
// with the bindings of an environment.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';

import { startOrigin } from './origin.mjs';
import { newState, startWorker } from './worker.mjs';

const TOKEN_SECRET = '0123456789abcdef0123456789abcdef';

let origin, state, worker;

before(async () => {
  [origin, state] = await Promise.all([startOrigin(), newState()]);
  worker = await startWorker(
    state,
    { ORIGIN: origin.url, EDGE_SECRET: 'the secret of the edge and its origin', TOKEN_SECRET },
    { environment: 'staging' },
  );
});

after(async () => {
  await Promise.all([worker?.stop(), origin?.stop()]);
  await state?.remove();
});

beforeEach(() => origin.reset());

function token(sub) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub, name: 'Ann', aud: 'gailou', exp })}`;
  return `${signed}.${createHmac('sha256', TOKEN_SECRET).update(signed).digest('base64url')}`;
}

/** Sends until a request is refused, at most `most` times; returns the number of accepted ones and the refusal. */
async function untilRefused(most, send) {
  for (let taken = 0; taken < most; taken += 10) {
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => send(taken + n)));
    const refused = answers.find((response) => response.status === 429);
    if (refused)
      return { taken: taken + answers.filter((response) => response.status < 300).length, refused };
  }
  return { taken: most, refused: null };
}

async function isRefusal(response) {
  const body = await response.json();
  assert.deepEqual(
    [response.headers.get('content-type'), body.status],
    ['application/problem+json', 429],
  );
  assert.equal(body.trace_id, response.headers.get('x-request-id'));
  assert.match(response.headers.get('retry-after'), /^\d{1,2}$/);
  assert.match(response.headers.get('ratelimit-policy'), /;\s*w=60/);
  assert.match(response.headers.get('ratelimit'), /;\s*r=0;\s*t=\d+/);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.match(response.headers.get('access-control-expose-headers'), /RateLimit/i);
}

const like = (sub) => (n) =>
  fetch(`${worker.url}/v1/comments/${n + 1}/like`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token(sub)}` },
  });

test('member above the write limit is 429 without a request to the origin, another member is not', async () => {
  const { taken, refused } = await untilRefused(300, like('7'));
  assert.ok(refused, `of ${taken} writes`);
  await isRefusal(refused);
  // More than one window allows, when a new window began during the test.
  assert.ok(taken >= 120 && taken < 240, `${taken}`);
  assert.equal(origin.asked().length, taken);
  assert.equal((await like('8')(0)).status, 201, 'another member');
  assert.equal((await fetch(`${worker.url}/v1/comments/1`)).status, 200, 'reads are not limited');
});

test('1,500 reads of a cached page are not limited', async () => {
  const path = '/v1/subjects/article/uncounted/comments';
  origin.hotFor = 60;
  for (let n = 0; n < 150; n += 1) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(worker.url + path)));
    assert.ok(
      answers.every((response) => response.status === 200),
      `after ${n * 10}`,
    );
    await Promise.all(answers.map((response) => response.arrayBuffer()));
  }
});

test('address above the write limit is 429, with a new member in each request', async () => {
  let sub = 100;
  const { refused } = await untilRefused(1_300, (n) => {
    sub += 1;
    return like(String(sub))(n);
  });
  assert.ok(refused, 'of 1,300 writes by as many members');
  await isRefusal(refused);
});
