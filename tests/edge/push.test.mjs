// Pages that the origin's job pushes: the edge verifies the signature, and no page replaces a newer one.

import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { shows, startOrigin } from './origin.mjs';
import { signatureHeaders } from './signature.mjs';
import { newState, startWorker } from './worker.mjs';

const SECRETS = {
  EDGE_SECRET: 'the secret of today, of 32 bytes and more',
  EDGE_SECRET_PREVIOUS: 'the secret of yesterday, of as many bytes',
};
const PUSH = '/edge/push';

let origin, state, worker;

before(async () => {
  [origin, state] = await Promise.all([startOrigin(), newState()]);
  worker = await startWorker(state, { ORIGIN: origin.url, ...SECRETS });
});

after(async () => {
  await Promise.all([worker?.stop(), origin?.stop()]);
  await state?.remove();
});

beforeEach(() => origin.reset());

function signature(secret, body, { path = PUSH, direction = 'origin to edge', ...more } = {}) {
  return signatureHeaders(secret, direction, { method: 'POST', path, body, ...more });
}

function send(body, signed) {
  const headers = { 'content-type': 'application/json', ...signed };
  return fetch(worker.url + PUSH, { method: 'POST', headers, body });
}

/** Pushes with the current secret and returns the JSON of the answer. */
async function push(pages, words = null) {
  const body = JSON.stringify({ v: 1, pages, words });
  const response = await send(body, signature(SECRETS.EDGE_SECRET, body));
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

function pushed(key, version, more = {}) {
  const body = JSON.stringify({ key, version });
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'public, no-cache',
    'cdn-cache-control': 'public, max-age=1, stale-while-revalidate=2, stale-if-error=86400',
    'x-gailou-hot-for': '30',
    etag: `"pushed-${version}"`,
  };
  return { key, headers, body, shows: shows([]), made: Date.now(), version, ...more };
}

/** The status for a request that announces a body of this length and sends none of it. */
function announced(length, more = {}) {
  return new Promise((done, failed) => {
    const request = httpRequest(
      worker.url + PUSH,
      { method: 'POST', headers: { 'content-length': length, ...more } },
      (response) => {
        done(response.statusCode);
        request.destroy();
      },
    );
    request.on('error', failed).flushHeaders();
  });
}

const read = async (path, headers) =>
  fetch(worker.url + path, { headers: { 'cache-control': 'max-age=0', ...headers } });

test('pushed page is served with its headers and without a request to the origin', async () => {
  for (const query of ['sort=new', 'view=compact']) {
    const key = `/v1/subjects/video/pushed/comments?${query}`;
    assert.deepEqual(await push([pushed(key, 5)]), { stored: 1, older: 0 });
    const response = await read(key);
    assert.deepEqual([response.status, (await response.json()).version], [200, 5]);
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.equal(response.headers.get('cache-control'), 'public, no-cache');
    for (const name of [
      'x-gailou-hot-for',
      'x-gailou-shows',
      'x-gailou-made',
      'cdn-cache-control',
    ]) {
      assert.equal(response.headers.get(name), null, name);
    }
    assert.equal((await read(key, { 'if-none-match': '"pushed-5"' })).status, 304);
  }
  const asked = '/v1/subjects/video/pushed/comments?sort=hot&limit=20&view=compact';
  assert.equal((await read(asked)).status, 200, 'as the element asks for it');
  assert.equal(origin.asked().length, 0);
});

test('push needs a recent signature by the current or the previous secret', async () => {
  const body = JSON.stringify({
    v: 1,
    pages: [pushed('/v1/subjects/video/signed', 5)],
    words: null,
  });
  const status = async (signed, sent = body) => (await send(sent, signed)).status;
  const now = Math.floor(Date.now() / 1000);
  const today = (options) => signature(SECRETS.EDGE_SECRET, body, options);
  assert.equal(await status(undefined), 403);
  assert.equal(await status({ 'x-gailou-edge': 't=1,v2=00' }), 403);
  assert.equal(await status({ ...today(), 'x-gailou-body': undefined }), 403, 'no hash');
  assert.equal(await status(today({ direction: 'edge to origin' })), 403, 'the other direction');
  assert.equal(await status(signature('another secret', body)), 403);
  assert.equal(await status(today({ time: now - 120 })), 403, 'too old');
  assert.equal(await status(today({ time: now + 120 })), 403, 'from the future');
  assert.equal(await status(today({ path: '/edge/other' })), 403, 'another path');
  assert.equal(
    await status(today(), body.replace('"version":5', '"version":6')),
    403,
    'another body',
  );
  assert.equal(await status(signature(SECRETS.EDGE_SECRET_PREVIOUS, body)), 200);
  assert.equal(await status(today()), 200);
  assert.equal((await fetch(worker.url + PUSH)).status, 405);
});

test('push without a fitting signature is refused before its body is read', async () => {
  const guessed = { ...signature('another secret', 'x') };
  const statuses = Array.from({ length: 6 }, () => announced(8 << 20, guessed));
  assert.deepEqual(new Set(await Promise.all(statuses)), new Set([403]));
  assert.deepEqual(await push([pushed('/v1/subjects/video/room', 5)]), { stored: 1, older: 0 });
});

test('repeated push and older page change nothing', async () => {
  const key = '/v1/subjects/video/order';
  const made = Date.now();
  const body = JSON.stringify({ v: 1, pages: [pushed(key, 7, { made })], words: null });
  const header = signature(SECRETS.EDGE_SECRET, body);
  assert.deepEqual(await (await send(body, header)).json(), { stored: 1, older: 0 });
  assert.deepEqual(await push([pushed(key, 8, { made: made + 10 })]), { stored: 1, older: 0 });
  assert.deepEqual(
    await (await send(body, header)).json(),
    { stored: 0, older: 1 },
    'the same bytes again',
  );
  assert.deepEqual(await push([pushed(key, 7, { made: made + 20 })]), { stored: 0, older: 1 });
  assert.deepEqual(await push([pushed(key, 8, { made: made - 20 })]), { stored: 0, older: 1 });
  assert.equal((await (await read(key)).json()).version, 8);
  assert.equal(origin.asked().length, 0);
});

test('push of 20 pages stores all but the one that is older', async () => {
  const key = (n) => `/v1/subjects/video/many-${n}`;
  await push([pushed(key(2), 9)]);
  const all = Array.from({ length: 20 }, (_, n) => pushed(key(n), 6));
  assert.deepEqual(await push(all), { stored: 19, older: 1 });
  assert.equal((await (await read(key(2))).json()).version, 9);
  assert.equal((await (await read(key(19))).json()).version, 6);
});

test('pushed page with a comment that was removed later is not served', async () => {
  const key = '/v1/subjects/video/void';
  origin.version = 10;
  await push([pushed(key, 9, { shows: shows([[77, 9]]) })]);
  assert.equal((await (await read(key)).json()).version, 9);
  origin.takeDown(77, 10);
  await sleep(4_500);
  assert.equal((await (await read(key)).json()).version, 10, 'from the origin');
});

test('push with one invalid page is refused as a whole', async () => {
  const good = pushed('/v1/subjects/video/refused', 5);
  const refused = async (pages, expected = 400) => {
    const body = typeof pages === 'string' ? pages : JSON.stringify({ v: 1, pages, words: null });
    assert.equal(
      (await send(body, signature(SECRETS.EDGE_SECRET, body))).status,
      expected,
      body.slice(0, 200),
    );
  };
  await refused('{');
  await refused(JSON.stringify({ v: 2, pages: [], words: null }));
  for (const key of ['', '/', '/v1/me/overlay', '/v1/subjects/video/a/comments?limit=7', '//x']) {
    await refused([good, { ...good, key }]);
  }
  await refused([{ ...good, shows: 'no!' }]);
  await refused([{ ...good, body: '' }]);
  await refused([{ ...good, headers: { 'x\n': '1' } }]);
  assert.equal(await announced((8 << 20) + 1), 413, 'before the body is read');
  assert.equal((await (await read(good.key)).json()).url, good.key, 'from the origin');
});

test('pushed dictionary blocks its terms, and an older version is ignored', async () => {
  const term = (term) => ({ term, category: 'gambling', action: 'block' });
  await push([], { version: 4, terms: [term('casino')] });
  await push([], { version: 3, terms: [] });
  const exp = Math.floor(Date.now() / 1000) + 600;
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const authorization = `Bearer ${part({ alg: 'HS256' })}.${part({ sub: '7', name: 'Ann', aud: 'gailou', exp })}.x`;
  const response = await fetch(`${worker.url}/v1/subjects/video/words/comments`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'the casino is open' }),
  });
  assert.deepEqual([response.status, (await response.json()).code], [422, 'content_rejected']);
});
