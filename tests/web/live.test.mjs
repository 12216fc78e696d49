// The element and the event stream, against a server whose stream is scripted here: what arrives,
// what goes, what is missed. And the element in the place of what the server rendered.
//
//   E2E_BASE=http://127.0.0.1:8787 node --test tests/web/live.test.mjs
//
// The demo threads (edge/web/demo-threads.jsonl) must be imported.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';

const BASE = (process.env.E2E_BASE || '').replace(/\/$/, '');
const CHROMIUM = process.env.E2E_CHROMIUM || '/usr/bin/chromium';
const WAIT_MS = 15_000;

let browser;
before(async () => {
  if (!BASE) return;
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});
after(() => browser?.close());

const newSubject = () => `article/live-${randomUUID()}`;

async function api(method, path, body, token) {
  const response = await fetch(BASE + path, {
    method,
    headers: {
      'Content-Type': 'application/json',
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, data: text && JSON.parse(text) };
}

const guest = async (name) => (await api('POST', '/v1/guests', { name })).data.token;

async function post(subject, content, token, parent) {
  const [type, key] = subject.split('/');
  const body = parent ? { content, parent_id: parent } : { content };
  const { status, data } = await api('POST', `/v1/subjects/${type}/${key}/comments`, body, token);
  assert.equal(status, 201);
  return data;
}

/** Waits until the lists show so many roots: they may be two seconds old. */
async function listed(subject, count) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const { data } = await api('GET', `/v1/subjects/${subject}/comments`);
    if (data.data.length >= count) return data;
    assert.ok(Date.now() < deadline, `${count} comments are listed`);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
}

/**
 * A page whose `EventSource` is the test's: `page.tell(name, id, data)` sends an event, and
 * `page.streams()` gives the addresses that were opened.
 */
async function openPage(subject, { hash = '', ...options } = {}) {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  await context.addInitScript(() => {
    window.streams = [];
    window.EventSource = class extends EventTarget {
      static CLOSED = 2;

      constructor(address) {
        super();
        this.address = address;
        this.readyState = 1;
        window.streams.push(this);
      }

      close() { this.readyState = 2; }
    };
  });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(error.message));
  await page.goto(`${BASE}/?subject=${encodeURIComponent(subject)}&lang=en${hash}`);
  await page.locator('.list[aria-busy="false"]').waitFor({ state: 'attached' });
  page.streams = () => page.evaluate(() => window.streams.map(({ address, readyState }) =>
    ({ path: new URL(address, location).pathname, after: new URL(address, location).searchParams.get('after'), readyState })));
  page.tell = (name, id, data) => page.evaluate(([type, lastEventId, text]) => {
    window.streams.at(-1).dispatchEvent(new MessageEvent(type, { lastEventId, data: text }));
  }, [name, String(id), JSON.stringify(data)]);
  return page;
}

async function withPage(subject, options, steps) {
  const page = await openPage(subject, options);
  try {
    await steps(page);
    assert.deepEqual(page.problems, [], 'no script error on the page');
  } finally {
    await page.context().close();
  }
}

const has = (locator, message) =>
  locator.first().waitFor({ timeout: WAIT_MS }).catch(() => assert.fail(message));
const articles = (page) => page.locator('gailou-comments').getByRole('article');

describe('live', { skip: BASE ? false : 'E2E_BASE is not set' }, () => {
  test('new comments wait behind a button, counts follow, what is removed goes', async () => {
    const subject = newSubject();
    const token = await guest('Writer');
    const first = await post(subject, 'Here before', token);
    const { page: { epoch } } = await listed(subject, 1);
    await withPage(subject, {}, async (page) => {
      assert.deepEqual(await page.streams(),
        [{ path: `/v1/subjects/${subject}/events`, after: epoch, readyState: 1 }]);
      const second = await post(subject, 'Arrives', token);
      const reply = await post(subject, 'Arrives below', token, first.id);
      const version = Number(epoch) + 2;
      await page.tell('comment', version - 1, { id: second.id, root: second.id, parent: null });
      await page.tell('comment', version, { id: reply.id, root: first.id, parent: first.id });
      await page.tell('counts', version, { roots: 2, comments: 3 });
      await has(page.locator('h2', { hasText: '3 comments' }), 'the count');
      assert.equal(await articles(page).count(), 1, 'nothing has moved');
      await page.getByRole('button', { name: 'Show 2 new comments' }).click();
      await has(articles(page).filter({ hasText: 'Arrives below' }), 'the reply');
      await has(page.locator('.replies article').filter({ hasText: 'Arrives below' }), 'in its place');
      assert.equal(await articles(page).count(), 3);
      await page.tell('removed', version + 1, { id: second.id });
      await has(page.locator(`[data-id="${second.id}"]`).getByText('This comment was deleted'), 'gone');
      // A stream that is opened again goes on where this one was.
      await page.locator('gailou-comments').evaluate((node) => node.setAttribute('live', 'off'));
      await page.locator('gailou-comments').evaluate((node) => node.removeAttribute('live'));
      const [closed, next] = await page.streams();
      assert.deepEqual([closed.readyState, next.readyState, next.after], [2, 1, String(version + 1)]);
    });
  });

  test('an edited comment reads differently at once', async () => {
    const subject = newSubject();
    const token = await guest('Writer');
    const comment = await post(subject, 'Before', token);
    await listed(subject, 1);
    await withPage(subject, {}, async (page) => {
      await has(articles(page).filter({ hasText: 'Before' }), 'the text');
      await api('PATCH', `/v1/comments/${comment.id}`, { content: 'After' }, token);
      await new Promise((resolve) => { setTimeout(resolve, 2_500); });
      await page.tell('comment', 9, { id: comment.id, root: comment.id, parent: null });
      await has(articles(page).filter({ hasText: 'After' }), 'the new text');
      assert.equal(await page.locator('.fresh:visible').count(), 0, 'it is no new comment');
    });
  });

  test('an edit that a cache does not know yet is asked for again', async () => {
    const subject = newSubject();
    const token = await guest('Writer');
    const comment = await post(subject, 'Before', token);
    await listed(subject, 1);
    await withPage(subject, {}, async (page) => {
      await has(articles(page).filter({ hasText: 'Before' }), 'the text');
      const { data: old } = await api('GET', `/v1/comments/${comment.id}`);
      await api('PATCH', `/v1/comments/${comment.id}`, { content: 'After' }, token);
      let asked = 0;
      await page.route(`**/v1/comments/${comment.id}`, (route) => {
        asked += 1;
        return asked === 1 ? route.fulfill({ json: old }) : route.continue();
      });
      await page.tell('comment', 9, { id: comment.id, root: comment.id, parent: null });
      await has(articles(page).filter({ hasText: 'After' }), 'the new text');
      assert.equal(asked, 2);
    });
  });

  test('a reset is not lost with the stream that told it', async () => {
    const subject = newSubject();
    const token = await guest('Writer');
    await post(subject, 'One', token);
    await listed(subject, 1);
    await withPage(subject, {}, async (page) => {
      await post(subject, 'Two', token);
      await page.tell('reset', 77, {});
      await page.locator('gailou-comments').evaluate((node) => node.setAttribute('live', 'off'));
      await page.locator('gailou-comments').evaluate((node) => node.removeAttribute('live'));
      assert.equal((await page.streams()).at(-1).after, '77', 'the next stream does not tell it again');
      await has(articles(page).filter({ hasText: 'Two' }), 'loaded anew');
    });
  });

  test('a reset loads the list anew; who is in it is asked', async () => {
    const subject = newSubject();
    const token = await guest('Writer');
    await post(subject, 'One', token);
    await listed(subject, 1);
    await withPage(subject, {}, async (page) => {
      await post(subject, 'Two', token);
      await page.tell('reset', 77, {});
      await has(articles(page).filter({ hasText: 'Two' }), 'loaded anew');
      await articles(page).first().getByRole('button', { name: /Reply/ }).click();
      await page.keyboard.type('half a thought');
      await post(subject, 'Three', token);
      await page.tell('reset', 99, {});
      const button = page.getByRole('button', { name: /have changed/ });
      await has(button, 'the reader is asked');
      assert.equal(await articles(page).filter({ hasText: 'Three' }).count(), 0);
      await page.waitForTimeout(2_500); // what is past the caches for one is in the caches for the next
      await button.click();
      await has(articles(page).filter({ hasText: 'Three' }), 'on their word');
      assert.equal((await page.streams()).length, 1, 'the stream goes on');
    });
  });

  test('a refused stream is asked for later, a hidden page holds none', async () => {
    const subject = newSubject();
    await withPage(subject, {}, async (page) => {
      await page.clock.install();
      await page.evaluate(() => {
        const [stream] = window.streams;
        stream.readyState = 2;
        stream.dispatchEvent(new Event('error'));
      });
      assert.equal((await page.streams()).length, 1);
      await page.clock.runFor(23_000);
      assert.equal((await page.streams()).length, 2);
      await page.evaluate(() => {
        Object.defineProperty(document, 'hidden', { get: () => window.isHidden, configurable: true });
        window.isHidden = true;
        document.dispatchEvent(new Event('visibilitychange'));
      });
      assert.deepEqual((await page.streams()).map((stream) => stream.readyState), [2, 2]);
      await page.evaluate(() => {
        window.isHidden = false;
        document.dispatchEvent(new Event('visibilitychange'));
      });
      assert.equal((await page.streams()).at(-1).readyState, 1);
    });
  });

  test('nothing is animated for who wants less motion', async () => {
    for (const [reducedMotion, some] of [['reduce', false], ['no-preference', true]]) {
      const subject = newSubject();
      const token = await guest('Writer');
      await withPage(subject, { reducedMotion }, async (page) => {
        const comment = await post(subject, 'Arrives', token);
        await page.tell('comment', 5, { id: comment.id, root: comment.id, parent: null });
        await page.getByRole('button', { name: 'Show 1 new comment' }).click();
        await has(articles(page).filter({ hasText: 'Arrives' }), 'it is there');
        const name = await page.locator('.new > article').evaluate((node) => getComputedStyle(node).animationName);
        assert.equal(name !== 'none', some, reducedMotion);
      });
    }
  });
});

/** Streams that a test which fails leaves open would keep the run from ending. */
const open = new Set();
after(() => open.forEach((stop) => stop.abort()));

/** An event stream, read here: `next(n)` gives the next `n` events. */
async function openStream(subject, { after, last } = {}) {
  const stop = new AbortController();
  open.add(stop);
  const query = after === undefined ? '' : `?after=${after}`;
  const response = await fetch(`${BASE}/v1/subjects/${subject}/events${query}`, {
    headers: { Accept: 'text/event-stream', ...(last ? { 'Last-Event-ID': last } : {}) },
    signal: stop.signal,
  });
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/event-stream']);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const events = [];
  const parse = () => {
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = Object.fromEntries(text.slice(0, end).split('\n').map((line) => line.split(/: ?(.*)/s)));
      text = text.slice(end + 2);
      if (fields.event) events.push({ name: fields.event, id: fields.id, data: JSON.parse(fields.data) });
    }
  };
  return {
    async next(count) {
      const late = setTimeout(() => stop.abort(), WAIT_MS);
      while (events.length < count) {
        const { value, done } = await reader.read();
        assert.equal(done, false, 'the stream goes on');
        text += value;
        parse();
      }
      clearTimeout(late);
      return events.splice(0, count);
    },
    close: () => stop.abort(),
  };
}

describe('the event stream', { skip: BASE ? false : 'E2E_BASE is not set' }, () => {
  test('tells many readers what happens, and who comes back what they missed', async () => {
    const subject = newSubject();
    const token = await guest('Writer');
    const first = await post(subject, 'One', token);
    const { page: { epoch } } = await listed(subject, 1);
    const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(subject, { after: epoch })));
    const second = await post(subject, 'Two', token);
    const told = await Promise.all(streams.map((stream) => stream.next(2)));
    for (const [comment, counts] of told) {
      assert.deepEqual([comment.name, comment.data.id], ['comment', second.id]);
      assert.deepEqual([counts.name, counts.data], ['counts', { roots: 2, comments: 2 }]);
    }
    // The last event of a version names it: who breaks off before it is told all of them again.
    const [{ id: early }, { id: last }] = told[0];
    assert.ok(early === undefined && Number(last) > Number(epoch));
    streams.slice(1).forEach((stream) => stream.close());
    await api('DELETE', `/v1/comments/${second.id}`, undefined, token);
    const reply = await post(subject, 'Below', token, first.id);
    const missed = await openStream(subject, { last });
    for (const stream of [streams[0], missed]) {
      const seen = [];
      while (!seen.some(({ name, data }) => name === 'comment' && data.id === reply.id)) seen.push(...await stream.next(1));
      assert.ok(seen.some(({ name, data }) => name === 'removed' && data.id === second.id));
      assert.ok(seen.every(({ id }) => id === undefined || Number(id) > Number(last)));
      stream.close();
    }
  });

  test('says so when it does not know what was missed', async () => {
    const subject = newSubject();
    const token = await guest('Writer');
    await post(subject, 'One', token);
    await listed(subject, 1);
    const stream = await openStream(subject, { last: '999999999' });
    const [reset] = await stream.next(1);
    assert.equal(reset.name, 'reset');
    await post(subject, 'Two', token);
    const [comment, counts] = await stream.next(2);
    assert.ok(comment.name === 'comment' && Number(counts.id) > Number(reset.id));
    stream.close();
  });

  test('refuses what is no subject', async () => {
    const response = await fetch(`${BASE}/v1/subjects/nope/1/events`, { headers: { Accept: 'text/event-stream' } });
    assert.deepEqual([response.status, (await response.json()).code], [404, 'unknown_subject_type']);
  });

  test('reaches the page of another reader', async () => {
    const subject = newSubject();
    const context = await browser.newContext({ locale: 'en-US' });
    const page = await context.newPage();
    await page.goto(`${BASE}/?subject=${encodeURIComponent(subject)}&lang=en`);
    await page.locator('.list[aria-busy="false"]').waitFor({ state: 'attached' });
    const token = await guest('Another');
    const comment = await post(subject, 'From elsewhere', token);
    await page.getByRole('button', { name: 'Show 1 new comment' }).click({ timeout: WAIT_MS });
    await has(articles(page).filter({ hasText: 'From elsewhere' }), 'the comment');
    await api('DELETE', `/v1/comments/${comment.id}`, undefined, token);
    await has(page.getByText('This comment was deleted'), 'its removal');
    await context.close();
  });
});
