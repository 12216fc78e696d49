// A member erases themselves through the edge, and within 5 s no page of it has a word of theirs, also pages
// that stay fresh for longer. E2E_BASE is the address of a running edge, which may be that of a cluster; without it the
// test starts one with the origin's program, E2E_GAILOU.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { SECRETS, skip, startGailou } from './gailou.mjs';
import { newState, startWorker } from './worker.mjs';

/** The longest time for which something of an erased member may be visible, in milliseconds. */
const BOUND_MS = 5_000;
const NAME = 'Zoe of the pages';
const TEXT = 'what Zoe wrote';
const SUBJECT = 'article/erasure';

/** The address of an edge with an origin of its own, until the test ends. */
async function startOwn(t) {
  const state = await newState();
  t.after(state.remove);
  const gailou = await startGailou(state.dir);
  t.after(() => gailou.stop());
  const worker = await startWorker(state, { ORIGIN: gailou.url, ...SECRETS });
  t.after(worker.stop);
  return worker.url;
}

test('erased member is gone from the pages of the edge within 5 s', { skip }, async (t) => {
  const edge = process.env.E2E_BASE ?? (await startOwn(t));
  const call = async (method, path, body, token) => {
    const headers = { 'cache-control': 'max-age=0' };
    if (token) headers.authorization = `Bearer ${token}`;
    if (body) headers['content-type'] = 'application/json';
    const response = await fetch(edge + path, {
      method,
      headers,
      body: body && JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const register = async (name) => JSON.parse((await call('POST', '/v1/guests', { name })).text);
  const post = async (token, content, parent_id) => {
    const posted = await call(
      'POST',
      `/v1/subjects/${SUBJECT}/comments`,
      { content, ...(parent_id && { parent_id }) },
      token,
    );
    assert.equal(posted.status, 201, posted.text);
    return JSON.parse(posted.text).id;
  };

  const [zoe, bo] = await Promise.all([register(NAME), register('Bo')]);
  const root = await post(bo.token, 'a root that stays');
  const reply = await post(zoe.token, TEXT, root);
  const own = await post(zoe.token, `${TEXT} again`);
  const answer = await post(bo.token, 'an answer to Zoe', own);
  const pages = [
    `/v1/subjects/${SUBJECT}/comments`,
    `/v1/subjects/${SUBJECT}/comments?sort=new`,
    `/v1/comments/${reply}`,
    `/v1/comments/${root}/replies`,
    `/v1/comments/${answer}/ancestors`,
    `/v1/latest`,
    `/t/${SUBJECT}`,
    `/v1/subjects/${SUBJECT}/feed.atom`,
  ];
  const withZoe = async () => {
    const texts = await Promise.all(pages.map(async (path) => [path, await call('GET', path)]));
    return texts
      .filter(([, { text }]) => text.includes(NAME) || text.includes(TEXT))
      .map(([path]) => path);
  };
  const until = Date.now() + 20_000;
  while ((await withZoe()).length < pages.length) {
    assert.ok(Date.now() < until, `only ${await withZoe()} have what was written`);
    await sleep(100);
  }

  const erased = await call('DELETE', '/v1/me', undefined, zoe.token);
  assert.ok(erased.status < 300, erased.text);
  const since = Date.now();
  let left = await withZoe();
  while (left.length > 0) {
    assert.ok(Date.now() - since < BOUND_MS, `after ${BOUND_MS} ms still in ${left}`);
    await sleep(100);
    left = await withZoe();
  }
  // It stays so.
  await sleep(1_000);
  assert.deepEqual(await withZoe(), []);
  const refused = await call(
    'POST',
    `/v1/subjects/${SUBJECT}/comments`,
    { content: 'again' },
    zoe.token,
  );
  assert.equal(refused.status, 401, refused.text);
});
