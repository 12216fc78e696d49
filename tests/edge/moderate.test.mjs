// A moderator deletes two comments that are cached at every address that shows them, and within 5 s no
// address shows them: the real origin behind the real Worker, with a popular subject that is pushed.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { ask, eventually, SECRETS, skip, startGailou, token } from './gailou.mjs';
import { freePort, newState, startWorker } from './worker.mjs';

/** The longest time for which a deleted comment may be visible, in milliseconds. */
const BOUND_MS = 5_000;
const ROOT = 'the root that is to go';
const REPLY = 'the reply that is to go';
const SORTS = ['hot', 'new', 'old', 'top', 'best', 'replies', 'controversial'];
const LIMITS = [10, 20, 50, 100, 7];

let state, gailou, worker;

before(async () => {
  if (skip) return;
  state = await newState();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // A subject is popular after a few readers, and its pages stay fresh for the longest time that is allowed.
  const hot = {
    GAILOU_EDGE__URL: url,
    GAILOU_EDGE__HOT_PER_MINUTE: '5',
    GAILOU_EDGE__FRESH_FOR: '60',
  };
  gailou = await startGailou(state.dir, { GAILOU_LIMITS: 'off', ...hot });
  worker = await startWorker(state, { ORIGIN: gailou.url, ...SECRETS }, { port });
});

after(async () => {
  await Promise.all([worker?.stop(), gailou?.stop()]);
  await state?.remove();
});

async function call(method, path, { body, ...headers } = {}) {
  const json = body && { 'content-type': 'application/json' };
  const options = {
    method,
    headers: { 'cache-control': 'max-age=0', ...json, ...headers },
    body: body && JSON.stringify(body),
  };
  const response = await fetch(worker.url + path, options);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text.startsWith('{') && JSON.parse(text),
  };
}

const as = (sub, name, role) => ({ authorization: `Bearer ${token(sub, name, role)}` });
const moderator = as('9', 'Mo', 'moderator');

/** All addresses that show the root, and all that show the reply. */
function addresses(subject, { root, reply, under, author, place }) {
  const lists = SORTS.flatMap((sort) =>
    LIMITS.map((limit) => `${subject}/comments?sort=${sort}&limit=${limit}`),
  );
  const html = [
    subject.replace('/v1/subjects', '/t'),
    `${subject.replace('/v1/subjects', '/t')}?fragment=1`,
  ];
  const trees = ['', '?depth=1', '?depth=2&limit=50', '?limit=500'].map(
    (query) => `/v1/comments/${root}/tree${query}`,
  );
  const both = [
    ...lists,
    ...html,
    ...trees,
    `/v1/comments/${reply}/ancestors`,
    `/v1/comments/${reply}/context`,
  ];
  const history = LIMITS.map((limit) => `/v1/members/${author}/comments?limit=${limit}`);
  const below = [`/v1/comments/${under}/ancestors`, `/v1/comments/${under}/context`];
  const replies = ['hot', 'old', 'new'].flatMap((sort) =>
    LIMITS.map((limit) => `/v1/comments/${root}/replies?sort=${sort}&limit=${limit}`),
  );
  return {
    [ROOT]: [
      ...both,
      ...history,
      ...below,
      subject,
      `/v1/comments/${root}`,
      `/v1/comments/${root}/context`,
      `/v1/comments/${root}/ancestors`,
      place,
    ],
    [REPLY]: [
      ...both,
      ...history,
      ...below,
      ...replies,
      `/v1/comments/${reply}`,
      `/v1/comments/${reply}/tree`,
    ],
  };
}

/** Reads a subject until its pages are pushed and stay fresh for a minute. */
async function makePopular(subject) {
  // A network counts once, so it takes several.
  for (let n = 1; n <= 20; n += 1) await ask(gailou, `${subject}/comments`, `198.51.100.${n}`);
  await eventually(async () =>
    /^gailou_pushed_pages_total\S*stored\S* [1-9]/m.test(await ask(gailou, '/metrics')),
  );
}

test('a hidden subject is whole for moderators and empty for everybody else', {
  skip,
}, async () => {
  const subject = '/v1/subjects/topic/hidden';
  const list = `${subject}/comments`;
  const post = async (body) => {
    const posted = await call('POST', list, { ...as('1', 'Ann'), body });
    assert.equal(posted.status, 201, posted.text);
    return posted.body.id;
  };
  const id = await post({ content: 'a secret' });
  await post({ content: 'a secret reply', parent_id: id });
  const parts = ['', '/tree', '/replies', '/ancestors', '/context'];
  const paths = [
    list,
    `${list}?sort=new&limit=50`,
    ...parts.map((of) => `/v1/comments/${id}${of}`),
  ];
  const all = [subject, ...paths];
  const shows = ({ text, body }) => text.includes('a secret') || body.comments === 2;
  const isEmpty = (seen) => [200, 404].includes(seen.status) && !shows(seen);
  const isWhole = (seen) => seen.status === 200 && shows(seen);
  // Every cache has the pages of before.
  const tags = new Map();
  for (const path of all) {
    const before = await eventually(async () => {
      const page = await call('GET', path);
      return isWhole(page) && page;
    });
    tags.set(path, before.headers.get('etag'));
  }
  const hide = { ...as('10', 'Ad', 'admin'), body: { state: 'hidden' } };
  const hidden = await call('PUT', subject.replace('/v1', '/v1/admin'), hide);
  assert.equal(hidden.status, 200, hidden.text);
  for (const path of all) await eventually(async () => isEmpty(await call('GET', path)));

  const readers = [{}, as('1', 'Ann'), { authorization: `${moderator.authorization}x` }];
  // Rounds without a pause, so that pages in memory are fresh when the next one asks.
  for (let round = 0; round < 2; round += 1) {
    for (const path of all) {
      const first = await call('GET', path);
      const tag = first.headers.get('etag') ?? tags.get(path);
      for (const headers of [{}, { 'if-none-match': tag }, { 'if-none-match': tags.get(path) }]) {
        const whole = await call('GET', path, { ...moderator, ...headers });
        assert.ok(isWhole(whole), `${path}: ${whole.status} ${whole.text}`);
        assert.equal(whole.headers.get('cache-control'), 'private, no-store', path);
        assert.equal(whole.headers.get('etag'), null, path);
        for (const reader of readers) {
          const seen = await call('GET', path, reader);
          assert.ok(isEmpty(seen), `${path}: ${seen.status} ${seen.text}`);
        }
      }
    }
  }
});

test("a moderator's deletion reaches every address within 5 s", { skip }, async () => {
  const subject = '/v1/subjects/topic/moderated';
  const post = async (content, who, parent_id) => {
    const answer = await call('POST', `${subject}/comments`, {
      ...who,
      body: { content, parent_id },
    });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.id;
  };
  await post('another root', as('1', 'Ann'));
  const root = await post(ROOT, as('5', 'Eve'));
  const reply = await post(REPLY, as('5', 'Eve'), root);
  const under = await post('a reply below it', as('2', 'Bo'), reply);
  await post('the newest root', as('1', 'Ann'));
  assert.equal((await call('PUT', `/v1/comments/${root}/pin`, moderator)).status, 200);

  // A page behind a cursor: the one after the oldest root.
  const first = await eventually(async () => {
    const page = await call('GET', `${subject}/comments?sort=old&limit=1`);
    return page.body.page?.next ? page : null;
  });
  const place = `${subject}/comments?limit=10&cursor=${first.body.page.next}`;
  const shown = addresses(subject, { root, reply, under, author: '5', place });

  // Both comments are cached at every address, and the client knows the tag of each page.
  const tags = new Map();
  for (const [content, paths] of Object.entries(shown)) {
    for (const path of paths) {
      await eventually(async () => {
        const page = await call('GET', path);
        tags.set(path, page.headers.get('etag'));
        return page.status === 200 && page.text.includes(content);
      });
    }
  }
  await makePopular(subject);

  for (const id of [reply, root]) {
    const decision = { ...moderator, body: { action: 'delete', reason: 'a test' } };
    const decided = await call('POST', `/v1/admin/comments/${id}/decision`, decision);
    assert.ok(decided.status < 300, decided.text);
  }
  const since = Date.now();
  const revalidate = (path) =>
    call('GET', path, tags.get(path) ? { 'if-none-match': tags.get(path) } : {});

  const all = Object.entries(shown).flatMap(([content, paths]) =>
    paths.map((path) => [path, content]),
  );
  const gone = new Set();
  let seen = 0;
  while (gone.size < all.length) {
    for (const at of all) {
      const [path, content] = at;
      const page = await revalidate(path);
      if (page.status !== 304 && !page.text.includes(content)) {
        gone.add(at);
        continue;
      }
      seen = Date.now() - since;
      assert.ok(!gone.has(at), `${path} shows "${content}" again`);
      assert.ok(seen < BOUND_MS, `${path} shows "${content}" after ${seen} ms (${page.status})`);
    }
  }
  console.log(`${all.length} addresses, a deleted comment last seen after ${seen} ms`);

  // The comments stay invisible after a pause of the isolate and without the origin.
  await sleep(6_000);
  const clean = async () => {
    for (const [path, content] of all) {
      const page = await revalidate(path);
      assert.ok(page.status !== 304 && !page.text.includes(content), `${path} (${page.status})`);
    }
  };
  await clean();
  await gailou.stop();
  gailou = null;
  await clean();
  const stale = await eventually(async () => {
    const page = await call('GET', `${subject}/comments`);
    return page.headers.get('x-gailou-stale') && page;
  });
  assert.ok(stale.status === 200 && !stale.text.includes(ROOT) && !stale.text.includes(REPLY));
  const refused = await call('POST', `${subject}/comments`, {
    ...moderator,
    body: { content: 'x' },
  });
  assert.deepEqual([refused.status, refused.body.code], [503, 'origin_unreachable']);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
});
