// An outage of the origin and its end: the answers to many readers and a writer, and the number of
// requests that the scripted origin gets.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { startOrigin } from './origin.mjs';
import { newState, startWorker } from './worker.mjs';

const TOKEN_SECRET = '0123456789abcdef0123456789abcdef';
const PAGES = 20;
const READERS = 10;

let origin, state, worker;

before(async () => {
  [origin, state] = await Promise.all([startOrigin(), newState()]);
  worker = await startWorker(state, {
    ORIGIN: origin.url,
    EDGE_SECRET: 'the secret of the edge and its origin',
    TOKEN_SECRET,
  });
});

after(async () => {
  await Promise.all([worker?.stop(), origin?.stop()]);
  await state?.remove();
});

beforeEach(() => origin.reset());

function token() {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: '7', name: 'Ann', aud: 'gailou', exp })}`;
  return `${signed}.${createHmac('sha256', TOKEN_SECRET).update(signed).digest('base64url')}`;
}

const path = (n) => `/v1/subjects/article/crowd-${n}/comments`;

async function read(n) {
  const response = await fetch(worker.url + path(n));
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** Every reader reads every page for this time; returns all answers. */
async function crowd(ms) {
  const answers = [];
  const until = Date.now() + ms;
  const reader = async (first) => {
    for (let n = first; Date.now() < until; n += 1) {
      answers.push(await read(n % PAGES));
      await sleep(20);
    }
  };
  await Promise.all(Array.from({ length: READERS }, (_, n) => reader(n * 2)));
  return answers;
}

const stale = (answer) => answer.headers.get('x-gailou-stale') === '1';

test('readers get stale pages during an outage, and the returning origin gets one request per page at a time', async () => {
  origin.version = 1;
  for (let n = 0; n < PAGES; n += 1) assert.equal((await read(n)).status, 200);
  await sleep(3_500);

  origin.mode = 'gone';
  origin.forget();
  const meanwhile = await crowd(5_000);
  assert.ok(meanwhile.length > 100, `${meanwhile.length} answers`);
  assert.ok(meanwhile.every((answer) => answer.status === 200 && answer.body.version === 1));
  assert.ok(meanwhile.slice(-50).every(stale), 'marked stale');
  assert.ok(meanwhile.at(-1).headers.get('warning').startsWith('110 '));
  // About one probe a second for pages and one for the feed, and the requests that were in flight.
  assert.ok(origin.asked().length <= READERS + 10, `${origin.asked().length} asked in 5 s`);
  assert.ok(origin.fed().length <= READERS + 10, `${origin.fed().length} asked of the feed in 5 s`);

  const headers = { authorization: `Bearer ${token()}`, 'content-type': 'application/json' };
  const write = await fetch(worker.url + path(0), {
    method: 'POST',
    headers,
    body: '{"content":"x"}',
  });
  assert.deepEqual([write.status, (await write.json()).code], [503, 'origin_unreachable']);
  assert.ok(Number(write.headers.get('retry-after')) > 0);

  // The origin returns: it is slow, and every page has changed.
  origin.version = 2;
  origin.slowMs = 400;
  origin.mode = 'slow';
  origin.forget();
  const returned = Date.now();
  const after = await crowd(6_000);
  assert.ok(after.every((answer) => answer.status === 200));
  // Probes are a second apart: one that met a slow moment of the machine is followed by another.
  const until = Date.now() + 30_000;
  for (let n = 0; n < PAGES; n += 1) {
    let answer = await read(n);
    while (stale(answer) && Date.now() < until) {
      await sleep(100);
      answer = await read(n);
    }
    assert.ok(!stale(answer), `${path(n)} is marked stale`);
    assert.equal(answer.body.version, 2, path(n));
  }
  // One request at a time fetches a page, and the page stays fresh for a second.
  const times = origin.asked().map((request) => request.at - returned);
  const busiest = Math.max(
    ...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length),
  );
  assert.ok(busiest <= PAGES * 2, `${busiest} in a second for ${PAGES} pages`);
  const together = new Map();
  for (const { url, at } of origin.asked()) {
    const last = together.get(url);
    assert.ok(
      last === undefined || at - last >= origin.slowMs * 0.9,
      `${url} twice within ${at - last} ms`,
    );
    together.set(url, at);
  }
});
