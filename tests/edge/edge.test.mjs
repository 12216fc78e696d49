// The edge in workerd against a scripted origin: the answers to clients and the requests to the origin.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from './gailou.mjs';
import { startOrigin } from './origin.mjs';
import { signatureHeaders } from './signature.mjs';
import { newState, putKv, startWorker } from './worker.mjs';

const TOKEN_SECRET = '0123456789abcdef0123456789abcdef';
const EDGE_SECRET = 'the secret of the edge and its origin';
const JSON_TYPE = { 'content-type': 'application/json' };

let origin, state, worker;

before(async () => {
  [origin, state] = await Promise.all([startOrigin(), newState()]);
  await putKv(
    state,
    'words',
    'casino\tgambling\tblock\n赌博\tgambling\tblock\nrude\tmanners\tmask\n',
  );
  worker = await startWorker(state, { ORIGIN: origin.url, EDGE_SECRET, TOKEN_SECRET });
});

after(async () => {
  await Promise.all([worker?.stop(), origin?.stop()]);
  await state?.remove();
});

beforeEach(() => origin.reset());

const call = (path, options = {}) => fetch(worker.url + path, options);

function token(secret = TOKEN_SECRET) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: '7', name: 'Ann', aud: 'gailou', exp })}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const member = (more = {}) => ({ authorization: `Bearer ${token()}`, ...more });

async function problem(response, status, code) {
  const body = await response.json();
  assert.deepEqual([response.status, body.code, body.status], [status, code, status]);
  assert.equal(response.headers.get('content-type'), 'application/problem+json');
  assert.equal(body.trace_id, response.headers.get('x-request-id'));
  return body;
}

test('cached page is served without a second request to the origin', async () => {
  const path = '/v1/subjects/article/cached/comments';
  const first = await call(`${path}?utm_source=x&limit=20`);
  assert.equal(first.status, 200);
  const body = await first.text();
  for (const query of ['', '?sort=hot', '?x=1&y=2']) {
    const again = await call(path + query);
    assert.equal(await again.text(), body);
    assert.equal(again.headers.get('cache-control'), 'public, no-cache');
    assert.equal(again.headers.get('access-control-allow-origin'), '*');
    assert.equal(again.headers.get('cdn-cache-control'), null);
    assert.equal(again.headers.get('content-type'), 'application/json');
    assert.match(again.headers.get('x-request-id'), /^[\w-]{1,64}$/);
    assert.match(again.headers.get('age'), /^\d$/);
  }
  assert.deepEqual(
    origin.seen(path).map((r) => r.url),
    [path],
  );
  assert.equal((await call(path, { method: 'HEAD' })).status, 200);
  const mine = await call(path, { headers: { 'x-request-id': 'mine-1' } });
  assert.equal(mine.headers.get('x-request-id'), 'mine-1');
});

test('matching If-None-Match is 304, another tag is 200', async () => {
  const path = '/v1/comments/4711';
  const etag = (await call(path)).headers.get('etag');
  assert.match(etag, /^(W\/)?"[0-9a-f]{16}"$/);
  // Without a cache-control of its own, fetch would add `no-cache` to a conditional request.
  const conditional = (tag) => ({
    headers: { 'if-none-match': tag, 'cache-control': 'max-age=0' },
  });
  const again = await call(path, conditional(etag));
  assert.deepEqual([again.status, await again.text()], [304, '']);
  assert.equal(again.headers.get('etag'), etag);
  const other = await call(path, conditional('"other"'));
  assert.equal(other.status, 200);
  assert.equal(origin.seen(path).length, 1);
});

test('stale page is served while one request refreshes it', async () => {
  const path = '/v1/subjects/article/swr';
  origin.version = 1;
  assert.equal((await (await call(path)).json()).version, 1);
  origin.version = 2;
  await sleep(1_300);
  // Were a reader to wait for the refresh, none would be answered.
  origin.mode = 'held';
  for (let n = 0; n < 3; n += 1) assert.equal((await (await call(path)).json()).version, 1);
  await eventually(() => origin.seen(path).length === 2);
  await sleep(300);
  assert.equal(origin.seen(path).length, 2, 'one refresh for three readers');
  origin.release();
  await eventually(async () => (await (await call(path)).json()).version === 2);
});

test('30 simultaneous readers of an uncached page get 200', async () => {
  origin.mode = 'slow';
  origin.slowMs = 300;
  const path = '/v1/subjects/article/crowd/comments';
  const answers = await Promise.all(Array.from({ length: 30 }, () => call(path)));
  assert.deepEqual([...new Set(answers.map((a) => a.status))], [200]);
  await Promise.all(answers.map((a) => a.text()));
});

test('Cache-Control no-cache bypasses the caches at most once a second', async () => {
  const path = '/v1/comments/99/replies';
  const past = async () =>
    (await (await call(path, { headers: { 'cache-control': 'no-cache' } })).json()).version;
  origin.version = 1;
  await (await call(path)).text();
  origin.version = 2;
  assert.equal(await past(), 2);
  assert.equal((await (await call(path)).json()).version, 2);
  origin.version = 3;
  assert.equal(await past(), 2);
});

test('404 is not cached', async () => {
  const path = '/v1/subjects/article/missing/comments';
  for (let n = 1; n <= 2; n += 1) {
    assert.equal((await call(path)).status, 404);
    assert.equal(origin.seen(path).length, n);
  }
});

test('unreachable origin: stored page is 200 and marked stale, unknown page is 503', async () => {
  const path = '/v1/subjects/article/outage/comments';
  const etag = (await call(path)).headers.get('etag');
  await sleep(3_200);
  for (const mode of ['gone', 'failing']) {
    origin.mode = mode;
    const stale = await call(path);
    assert.deepEqual([stale.status, stale.headers.get('x-gailou-stale')], [200, '1']);
    assert.match(stale.headers.get('warning'), /^110 /);
    assert.ok(Number(stale.headers.get('age')) >= 3);
    assert.equal((await stale.json()).url, path);
    const known = await call(path, { headers: { 'if-none-match': etag } });
    assert.deepEqual([known.status, known.headers.get('x-gailou-stale')], [304, '1']);
    const unknown = await call(`/v1/subjects/article/never-${mode}`);
    await problem(unknown, 503, 'origin_unreachable');
    assert.equal(unknown.headers.get('retry-after'), '5');
  }
});

test('origin that does not answer is 503 after 5 s', async () => {
  origin.mode = 'slow';
  origin.slowMs = 8_000;
  const began = Date.now();
  await problem(await call('/v1/subjects/article/hangs'), 503, 'origin_unreachable');
  const took = Date.now() - began;
  assert.ok(took > 4_500 && took < 6_500, `${took} ms`);
  origin.mode = 'up';
  assert.equal((await call('/v1/subjects/article/hangs')).status, 200);
});

test('write reaches the origin with a signed client address and without spoofed headers', async () => {
  const path = '/v1/subjects/article/a%2Fb/comments?x=1';
  const body = JSON.stringify({ content: 'hello' });
  const spoofed = {
    'x-gailou-client': '203.0.113.9',
    'x-gailou-edge': 't=1,v2=00',
    'x-forwarded-for': '203.0.113.9',
    cookie: 'a=b',
  };
  const headers = member({
    ...JSON_TYPE,
    'idempotency-key': 'k-1',
    'x-request-id': 'w-1',
    ...spoofed,
  });
  const response = await call(path, { method: 'POST', headers, body });
  assert.deepEqual([response.status, response.headers.get('x-request-id')], [201, 'w-1']);
  const [sent] = origin.asked();
  assert.deepEqual([sent.method, sent.url, sent.body], ['POST', path, body]);
  assert.equal(sent.headers['idempotency-key'], 'k-1');
  assert.equal(sent.headers['x-request-id'], 'w-1');
  assert.equal(sent.headers.authorization, headers.authorization);
  assert.equal(sent.headers.cookie, undefined);
  const client = sent.headers['x-gailou-client'] ?? '';
  assert.notEqual(client, '203.0.113.9');
  const [, time] = sent.headers['x-gailou-edge'].match(/^t=(\d+),v2=[0-9a-f]{64}$/);
  assert.ok(Math.abs(Date.now() / 1000 - Number(time)) < 5);
  const { authorization } = headers;
  const request = { time, method: 'POST', path, client, authorization, key: 'k-1', body };
  const expected = signatureHeaders(EDGE_SECRET, 'edge to origin', request);
  for (const [name, value] of Object.entries(expected)) assert.equal(sent.headers[name], value);
});

/**
 * Announces a body of `bytes` and sends none of it before the answer: workerd resets the connection
 * when it has answered and more arrives, and with it what the client has not read.
 */
function announce(method, path, headers, bytes) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const options = { method, headers: { ...headers, 'content-length': bytes }, agent: false };
  const request = httpRequest(new URL(path, worker.url), options, (response) => {
    const { statusCode: status, headers } = response;
    response.toArray().then((body) => {
      request.destroy();
      resolve(new Response(Buffer.concat(body), { status, headers }));
    }, reject);
  });
  request.on('error', reject);
  request.flushHeaders();
  return promise;
}

test('invalid write is refused by route, method, token, size and type, in this order', async () => {
  const path = '/v1/subjects/article/1/comments';
  const large = 64 * 1024 + 1;
  await problem(await announce('POST', '/v1/nothing', {}, large), 404, 'not_found');
  const method = await announce('PUT', path, {}, large);
  assert.equal(method.headers.get('allow'), 'GET,HEAD,POST');
  await problem(method, 405, 'method_not_allowed');
  await problem(await announce('POST', path, {}, large), 401, 'token_missing');
  const forged = { authorization: `Bearer ${token('another secret of 32 bytes or more')}` };
  await problem(await announce('POST', path, forged, large), 401, 'token_invalid');
  const text = member({ 'content-type': 'text/plain' });
  await problem(await announce('POST', path, text, large), 413, 'body_too_large');
  const post = (headers, body) => call(path, { method: 'POST', headers, body });
  await problem(await post(text, '{}'), 415, 'unsupported_media_type');
  assert.equal(origin.asked().length, 0);
  assert.equal((await post(member(JSON_TYPE), '{')).status, 201, 'the origin checks the body');
});

test('chunked body above the limit is 413', async () => {
  const url = new URL('/v1/subjects/article/1/comments', worker.url);
  const status = await new Promise((done, failed) => {
    const headers = member({ ...JSON_TYPE, 'transfer-encoding': 'chunked' });
    const request = httpRequest(url, { method: 'POST', headers }, (response) => {
      response.resume();
      done(response.statusCode);
    });
    request.on('error', failed);
    for (let n = 0; n < 9; n += 1) request.write('x'.repeat(8 * 1024));
    request.end();
  });
  assert.deepEqual([status, origin.asked().length], [413, 0]);
});

test('blocked word is 422, and passed on to be kept and not to be published', async () => {
  const post = (content) =>
    call('/v1/subjects/article/1/comments', {
      method: 'POST',
      headers: member(JSON_TYPE),
      body: JSON.stringify({ content }),
    });
  for (const content of ['the CASINO is open', '来赌 博吧']) {
    const body = await problem(await post(content), 422, 'content_rejected');
    assert.deepEqual(body.errors, [{ field: 'content', detail: 'gambling' }]);
    assert.ok(!JSON.stringify(body).includes('casino'));
  }
  const passedOn = await eventually(() => (origin.asked().length === 2 ? origin.asked() : null));
  assert.deepEqual(
    passedOn.map(({ method, headers }) => [method, headers['x-gailou-refused']]),
    [
      ['POST', '1'],
      ['POST', '1'],
    ],
  );
  assert.equal((await post('how rude')).status, 201);
  assert.equal(origin.asked().at(-1).headers['x-gailou-refused'], undefined);
});

test('write to an unreachable origin is 503 and is sent once', async () => {
  origin.mode = 'gone';
  const path = '/v1/subjects/article/1/comments';
  const response = await call(path, { method: 'POST', headers: member(JSON_TYPE), body: '{}' });
  assert.equal(response.headers.get('retry-after'), '5');
  assert.match((await problem(response, 503, 'origin_unreachable')).detail, /Idempotency-Key/);
  // This holds for a POST only: when a connection breaks, the platform repeats a PUT or DELETE
  // without a body, because both are idempotent.
  assert.equal(origin.asked().length, 1, 'one request');
});

test('overlay, preflight and event stream are forwarded to the origin', async () => {
  await problem(await call('/v1/me/overlay?ids=1'), 401, 'token_missing');
  const own = await call('/v1/me/overlay?ids=1', { headers: member() });
  assert.deepEqual([own.status, own.headers.get('cache-control')], [200, 'private, no-store']);
  const preflight = await call('/v1/comments/5/like', {
    method: 'OPTIONS',
    headers: { origin: 'https://host.example', 'access-control-request-method': 'PUT' },
  });
  assert.equal(preflight.headers.get('access-control-allow-origin'), 'https://host.example');

  const stop = new AbortController();
  const events = await call('/v1/subjects/article/1/events', { signal: stop.signal });
  const reader = events.body.getReader();
  let text = '';
  while (!text.includes('alive')) text += new TextDecoder().decode((await reader.read()).value);
  assert.match(text, /^event: counts/);
  stop.abort();
});

test('newest comments and feeds are forwarded each time, with the tag that the client has', async () => {
  for (const path of [
    '/v1/latest?type=article',
    '/v1/latest.atom',
    '/v1/subjects/article/a%2Fb/feed.atom',
  ]) {
    for (let n = 0; n < 2; n++) {
      const answer = await call(path, { headers: { 'if-none-match': '"x"' } });
      assert.equal(answer.status, 200, path);
      assert.equal(answer.headers.get('cdn-cache-control'), null);
      await answer.text();
    }
    const asked = origin.asked().filter((request) => request.url === path);
    assert.deepEqual(
      asked.map(({ headers }) => headers['if-none-match']),
      ['"x"', '"x"'],
      path,
    );
  }
  await problem(await call('/v1/admin/subjects'), 401, 'token_missing');
  assert.equal((await call('/v1/admin/subjects?q=x', { headers: member() })).status, 200);
});

test('static files have their headers and need no origin', async () => {
  const page = await call('/');
  assert.equal(page.status, 200);
  assert.match(
    page.headers.get('content-security-policy'),
    /^default-src 'none'; script-src 'self';/,
  );
  const console = await call('/console');
  assert.deepEqual([console.status, console.headers.get('cache-control')], [200, 'no-cache']);
  assert.match(
    console.headers.get('content-security-policy'),
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  );
  const element = await call('/gailou.js');
  assert.equal(element.headers.get('access-control-allow-origin'), '*');
  assert.equal(element.headers.get('cross-origin-resource-policy'), 'cross-origin');
  const [file] = (await element.text()).match(/gailou\/chunk-[A-Z0-9]{8}\.js/);
  const part = await call(`/${file}`);
  assert.equal(part.headers.get('access-control-allow-origin'), '*');
  assert.equal(part.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  await problem(await call('/nothing.here'), 404, 'not_found');
  const alive = await call('/healthz');
  assert.deepEqual(await alive.json(), { status: 'ok' });
  assert.equal(origin.asked().length, 0);
});

test('dot segment is refused in every spelling, and only calls of the contract are passed on', async () => {
  const status = (path) =>
    new Promise((done, failed) => {
      const { hostname, port } = new URL(worker.url);
      // Not fetch, which resolves the segments itself.
      const sent = httpRequest({ hostname, port, path, method: 'GET' }, (response) => {
        response.resume();
        done(response.statusCode);
      });
      sent.on('error', failed).end();
    });
  for (const path of ['/v1/me/x%2f..%2f..%2freadyz', '/v1/subjects/article/a%2F..%2Fb'])
    assert.equal(await status(path), 400, path);
  for (const path of ['/v1/me/../../metrics', '/v1/admin/%2e%2e/edge/changes', '/v1/me\\..\\x'])
    assert.ok([400, 404].includes(await status(path)), path);
  for (const path of ['/metrics', '/v1/edge/changes', '/v1/me/x', '/v1/admin/x'])
    assert.equal(await status(path), 404, path);
  assert.equal(origin.asked().length, 0);
  assert.equal(await status('/v1/subjects/article/a%2Fb.c'), 200);
});

test('Worker with a secret that is too short answers nothing but what is wrong', async () => {
  const other = await newState();
  const short = await startWorker(other, { ORIGIN: origin.url, EDGE_SECRET: 'short' });
  try {
    for (const path of ['/healthz', '/v1/subjects/article/1']) {
      const response = await fetch(short.url + path);
      const { code, detail } = await response.json();
      assert.deepEqual([response.status, code], [500, 'internal']);
      assert.match(detail, /EDGE_SECRET/);
    }
    assert.equal(origin.asked().length, 0);
    assert.match(short.log(), /EDGE_SECRET/);
  } finally {
    await short.stop();
    await other.remove();
  }
});

test('restarted Worker serves a stored page while the origin is unreachable', async () => {
  const path = '/v1/subjects/article/kept/comments';
  await (await call(path)).text();
  await sleep(500);
  await worker.stop();
  origin.mode = 'gone';
  worker = await startWorker(state, { ORIGIN: origin.url, EDGE_SECRET, TOKEN_SECRET });
  await sleep(3_000);
  const stale = await call(path);
  assert.deepEqual([stale.status, stale.headers.get('x-gailou-stale')], [200, '1']);
  assert.equal((await stale.json()).url, path);
});
