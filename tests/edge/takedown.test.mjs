// Takedowns: a removed comment is gone from every cache within 5 s, and no older page comes back. The
// edge runs in workerd against a scripted origin whose pages stay fresh for a minute.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { startOrigin } from './origin.mjs';
import { newState, startWorker } from './worker.mjs';

/** The longest time for which a removed comment may be visible, in milliseconds. */
const BOUND_MS = 5_000;
/** Longer than an isolate trusts its copy of the change feed. */
const PAUSE_MS = 6_000;

let origin, state, worker;

before(async () => {
  [origin, state] = await Promise.all([startOrigin(), newState()]);
  worker = await startWorker(state, {
    ORIGIN: origin.url,
    EDGE_SECRET: 'the secret of the edge and its origin',
  });
});

after(async () => {
  await Promise.all([worker?.stop(), origin?.stop()]);
  await state?.remove();
});

let next = 1_000;

/** A new comment for each test, on pages that stay fresh for a minute. */
function newComment() {
  next += 1;
  origin.version = 10;
  origin.entries = [[next, 10]];
  origin.hotFor = 60;
  return next;
}

beforeEach(() => origin.reset());

const call = (path, headers = {}) =>
  fetch(worker.url + path, { headers: { 'cache-control': 'max-age=0', ...headers } });
const page = async (path) => (await call(path)).json();
const stale = (response) => response.headers.get('x-gailou-stale');

/** Removes the comment from the origin's pages and adds the takedown to its change feed. */
function takeDown(id) {
  origin.version += 1;
  origin.entries = [];
  origin.takeDown(id, origin.version);
  return Date.now();
}

async function within(ms, look) {
  const until = Date.now() + ms;
  while (!(await look())) {
    assert.ok(Date.now() < until, `not within ${ms} ms`);
    await sleep(100);
  }
}

test('removed comment is gone from every cached page within 5 s, and the old tag is not 304', async () => {
  const id = newComment();
  const subject = '/v1/subjects/article/gone';
  const paths = [
    subject,
    ...['hot', 'new', 'old', 'top', 'best'].flatMap((sort) =>
      [10, 20, 50, 100].map((limit) => `${subject}/comments?sort=${sort}&limit=${limit}`),
    ),
    ...['', '/replies', '/tree', '/ancestors', '/context'].map(
      (tail) => `/v1/comments/${id}${tail}`,
    ),
    '/v1/members/7/comments',
    '/t/article/gone',
    '/t/article/gone?fragment=1',
  ];
  const tags = new Map();
  for (const path of paths) {
    const response = await call(path);
    assert.deepEqual((await response.json()).ids, [id], path);
    tags.set(path, response.headers.get('etag'));
  }
  origin.forget();
  for (const path of paths)
    assert.equal((await call(path, { 'if-none-match': tags.get(path) })).status, 304, path);
  assert.equal(origin.asked().length, 0, 'all of them are cached');

  const since = takeDown(id);
  for (const path of paths) {
    // What counts is when the last request was sent that still got the comment: the bound is the edge's, and the time
    // that all these requests take is the machine's.
    let asked, shown;
    do {
      assert.ok(!asked || asked - since < BOUND_MS, `${path} shows it after ${asked - since} ms`);
      if (shown) await sleep(100);
      asked = Date.now();
      shown = (await page(path)).ids.length > 0;
    } while (shown);
    const again = await call(path, { 'if-none-match': tags.get(path) });
    assert.deepEqual([again.status, (await again.json()).ids], [200, []], path);
  }
});

test('list with an unusual limit is not cached', async () => {
  const [id, path] = [newComment(), '/v1/subjects/article/odd/comments?limit=7'];
  for (let n = 0; n < 2; n++) {
    origin.forget();
    assert.deepEqual((await page(path)).ids, [id]);
    assert.equal(origin.asked().length, 1);
  }
});

test('first answer of an isolate after a pause has no removed comment', async () => {
  const [id, path] = [newComment(), '/v1/subjects/article/slept/comments'];
  const etag = (await call(path)).headers.get('etag');
  await sleep(PAUSE_MS / 2);
  takeDown(id);
  await sleep(PAUSE_MS);
  const first = await call(path, { 'if-none-match': etag });
  assert.deepEqual([first.status, (await first.json()).ids, stale(first)], [200, [], null]);
});

test("isolate that paused longer than the feed's tail fetches the feed of the day", async () => {
  const [id, path] = [newComment(), '/v1/subjects/article/day/comments'];
  await page(path);
  await sleep(300);
  takeDown(id);
  await sleep(PAUSE_MS);
  // The takedown is older than the tail.
  origin.tailMs = 1_000;
  origin.forget();
  assert.deepEqual((await page(path)).ids, []);
  assert.ok(origin.fed().some((request) => request.url.endsWith('?day=1')));
});

test('takedown of another comment leaves a cached page valid', async () => {
  const [id, path] = [newComment(), '/v1/subjects/article/kept/comments'];
  await page(path);
  origin.takeDown(id + 500_000, 11);
  await sleep(PAUSE_MS / 2);
  origin.forget();
  assert.deepEqual((await page(path)).ids, [id]);
  assert.equal(origin.asked().length, 0);
});

test('invalidated page is 503 while the origin does not answer', async () => {
  const [id, path] = [newComment(), '/v1/subjects/article/void/comments'];
  await page(path);
  await sleep(500);
  takeDown(id);
  // The feed answers; the page does not.
  origin.mode = 'failing';
  await within(BOUND_MS, async () => (await call(path)).status === 503);
  origin.mode = 'gone';
  await sleep(PAUSE_MS);
  const refused = await call(path);
  assert.deepEqual([refused.status, (await refused.json()).code], [503, 'origin_unreachable']);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
});

test('unreachable feed: pages are marked stale until it is back', async () => {
  const [id, path] = [newComment(), '/v1/subjects/article/unfed/comments'];
  await page(path);
  origin.feed = 'gone';
  await sleep(PAUSE_MS);
  const marked = await call(path);
  assert.deepEqual([marked.status, stale(marked), (await marked.json()).ids], [200, '1', [id]]);
  origin.feed = 'up';
  await within(BOUND_MS, async () => stale(await call(path)) === null);
});

test('database away: pages of its comments turn stale, and those of others stay fresh', async () => {
  const here = newComment();
  // The slot of a comment is in its id, from the twelfth bit on.
  const elsewhere = here + 4_096;
  const [path, other] = ['away', 'beside'].map((key) => `/v1/subjects/article/${key}/comments`);
  assert.deepEqual((await page(path)).ids, [here]);
  origin.entries = [[elsewhere, 10]];
  assert.deepEqual((await page(other)).ids, [elsewhere]);
  origin.awaySince = Date.now();
  await within(BOUND_MS, async () => stale(await call(path)) === '1');
  await sleep(2_500);
  for (let n = 0; n < 5; n += 1) {
    assert.deepEqual([stale(await call(path)), stale(await call(other))], ['1', null]);
    await sleep(500);
  }
  takeDown(elsewhere);
  await within(BOUND_MS, async () => (await page(other)).ids.length === 0);
  origin.awaySince = null;
  await within(BOUND_MS, async () => stale(await call(path)) === null);
  assert.deepEqual((await page(path)).ids, [here], 'it is the cached one');
});

test('feed is fetched about once in two seconds under load', async () => {
  newComment();
  const path = '/v1/subjects/article/cost/comments';
  await page(path);
  origin.forget();
  const until = Date.now() + 8_000;
  while (Date.now() < until) await Promise.all(Array.from({ length: 10 }, () => page(path)));
  const asked = origin.fed().length;
  assert.ok(asked >= 2 && asked <= 8, `${asked} in 8 s`);
  assert.equal(origin.asked().length, 0);
});

test('page with an older version never replaces a newer one', async () => {
  newComment();
  origin.hotFor = null;
  const path = '/v1/subjects/article/order/comments';
  origin.version = 12;
  await page(path);
  // As a replica that lags behind.
  origin.version = 11;
  await sleep(1_500);
  for (let n = 0; n < 5; n += 1) {
    assert.equal((await page(path)).version, 12);
    await sleep(100);
  }
  origin.version = 13;
  await within(BOUND_MS, async () => (await page(path)).version === 13);
});

test('headers for the edge do not reach the reader', async () => {
  newComment();
  const path = '/v1/subjects/article/secret/comments';
  const answers = [await call(path), await call(path), await call('/v1/subjects/article/missing')];
  answers.push(await call(path, { 'if-none-match': answers[0].headers.get('etag') }));
  assert.equal(answers[3].status, 304);
  for (const response of answers) {
    for (const name of ['shows', 'made', 'version', 'hot-for']) {
      assert.equal(response.headers.get(`x-gailou-${name}`), null, name);
    }
  }
});

test('page with a missing or invalid X-Gailou-Shows is not cached', async () => {
  for (const mode of ['silent', 'nonsense']) {
    newComment();
    origin.mode = mode;
    const path = `/v1/subjects/article/${mode}/comments`;
    for (let n = 1; n <= 3; n += 1) {
      assert.equal((await call(path)).status, 200);
      assert.equal(origin.seen(path).length, n, mode);
    }
  }
});

test('truncated answer is 503, or the cached page', async () => {
  newComment();
  origin.hotFor = null;
  const path = '/v1/subjects/article/truncated/comments';
  origin.mode = 'truncated';
  assert.equal((await call(path)).status, 503);
  origin.mode = 'up';
  const whole = await page(path);
  await sleep(1_500);
  origin.mode = 'truncated';
  origin.version += 1;
  for (let n = 0; n < 3; n += 1) {
    assert.equal((await page(path)).version, whole.version);
    await sleep(300);
  }
});

test('answer above the size limit is 503, and cached pages stay available', async () => {
  newComment();
  const [path, other] = [
    '/v1/subjects/article/huge/comments',
    '/v1/subjects/article/beside/comments',
  ];
  await page(other);
  origin.mode = 'huge';
  const huge = await call(path);
  assert.deepEqual([huge.status, (await huge.json()).code], [503, 'unavailable']);
  origin.mode = 'up';
  const fresh = await call('/v1/subjects/article/new/comments');
  assert.deepEqual([fresh.status, stale(fresh)], [200, null], 'other pages are not concerned');
  origin.mode = 'gone';
  assert.equal((await call(other)).status, 200, 'the page in memory');
});

test('subject that stands for its changed comments voids its older pages', async () => {
  // The last test: pages of this subject with a smaller version stay void.
  newComment();
  const path = '/v1/subjects/article/voided/comments';
  assert.equal((await page(path)).version, 10);
  origin.version = 11;
  origin.voidBefore = 11;
  origin.entries = [[next, 11]];
  await within(BOUND_MS, async () => (await page(path)).version === 11);
});
