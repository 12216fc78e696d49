// The comment element in a real browser, against a running server.
//
//   E2E_BASE=http://127.0.0.1:8787 node --test tests/web/
//
// E2E_CHROMIUM names the browser; E2E_BLOCKED_WORD with E2E_BLOCKED_CATEGORY names a word
// the server's dictionary blocks. The demo threads (edge/web/demo-threads.jsonl) must be imported.
// The server runs with GAILOU_LIMITS=off: the tests post faster than a person may.
// Every test uses a subject and a text of its own, so the tests can be repeated on the same data.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';

const BASE = (process.env.E2E_BASE || '').replace(/\/$/, '');
const CHROMIUM = process.env.E2E_CHROMIUM || '/usr/bin/chromium';
const BLOCKED_WORD = process.env.E2E_BLOCKED_WORD;
const BLOCKED_CATEGORY = process.env.E2E_BLOCKED_CATEGORY;
const PHONE = { width: 390, height: 844 };
const WAIT_MS = 15_000;

const threads = readFileSync(
  process.env.GAILOU_DEMO_THREADS || new URL('../../edge/web/demo-threads.jsonl', import.meta.url),
  'utf8',
).split('\n').filter(Boolean).map((line) => JSON.parse(line));

const newSubject = (type = 'article') => `${type}/test-${randomUUID()}`;
const newText = (what) => `${what} ${randomUUID().slice(0, 8)}`;

let browser;

async function openPage(subject, { lang = 'en', hash = '', context, ...options } = {}) {
  const own = context || await browser.newContext({ locale: 'en-US', ...options });
  const page = await own.newPage();
  page.setDefaultTimeout(WAIT_MS);
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(error.message));
  await page.goto(`${BASE}/?subject=${encodeURIComponent(subject)}&lang=${lang}${hash}`);
  await listLoaded(page);
  return page;
}

const listLoaded = (page) =>
  page.locator('.list[aria-busy="false"]').waitFor({ state: 'attached' });

async function withPage(subject, options, steps) {
  const page = await openPage(subject, options);
  try {
    await steps(page);
    assert.deepEqual(page.problems, [], 'no script error on the page');
  } finally {
    await page.context().close();
  }
}

const comments = (page) => page.locator('gailou-comments').getByRole('article');
const commentWith = (page, text) => comments(page).filter({ hasText: text }).first();
const mainForm = (page) => page.locator('gailou-comments section > form.composer');

/** Fills and sends a form; a guest's name is given where it is asked for. */
async function send(form, text, button, name = 'Test guest') {
  const nameField = form.getByLabel(/^(Your name|昵称)$/);
  if (await nameField.isVisible()) await nameField.fill(name);
  await form.locator('textarea').fill(text);
  await form.getByRole('button', { name: button, exact: true }).click();
}

/** Posts a root comment and returns its article, once the server has answered. */
async function post(page, text, shown = text) {
  await send(mainForm(page), text, 'Post');
  const comment = commentWith(page, shown);
  await acknowledged(comment);
  return comment;
}

/** Waits until the server has answered: what is shown before may still be on its way. */
const acknowledged = (comment) =>
  comment.and(comment.page().locator('[data-id]:not([data-id^="sending"])')).waitFor();

/** Waits until pages from the caches show so many roots: they may be two seconds old. */
async function listed(subject, count) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const answer = await fetch(`${BASE}/v1/subjects/${subject}/comments`);
    if ((await answer.json()).data.length >= count) return;
    assert.ok(Date.now() < deadline, `${count} comments are listed`);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
}

async function has(locator, message) {
  await locator.first().waitFor({ timeout: WAIT_MS }).catch(() => assert.fail(message));
}

const isFocused = (locator) =>
  locator.evaluate((node) => node.getRootNode().activeElement === node);

async function attributeBecomes(locator, name, value) {
  const selector = `[${name}="${value}"]`;
  await has(locator.and(locator.page().locator(selector)), `${name} becomes ${value}`);
}

before(async () => {
  if (!BASE) return;
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});
after(() => browser?.close());

describe('the page', { skip: BASE ? false : 'E2E_BASE is not set' }, () => {
  test('shows the seeded comments, the pinned one first and once', async () => {
    const seeded = threads.filter((line) => line.subject === 'article:hello');
    const pinned = seeded.find((line) => line.pinned);
    await withPage('article/hello', {}, async (page) => {
      const first = page.locator('.list > .item').first();
      await has(first.getByText('Pinned'), 'a pinned comment stands first');
      const opening = pinned.content.split('\n')[0].slice(0, 40);
      await has(first.getByText(opening), 'it is the seeded one');
      assert.equal(await page.locator('.list .body').filter({ hasText: opening }).count(), 1);
      const root = seeded.find((line) => !line.parent && !line.pinned && !line.deleted);
      await has(commentWith(page, root.content.slice(0, 30)), 'another seeded root is shown');
      assert.match(await page.locator('gailou-comments h2').innerText(), /^\d+ comments?$/);
    });
  });

  test('shows a deleted comment as a tombstone under its thread', async () => {
    const deleted = threads.find((line) => line.subject === 'article:hello' && line.deleted);
    const root = threads.find((line) => line.id === deleted.root);
    await withPage('article/hello', {}, async (page) => {
      const thread = page.locator('.list > .item')
        .filter({ hasText: root.content.slice(0, 30) }).first();
      const more = thread.locator('> .more-replies');
      if (await more.isVisible()) await more.click();
      await has(thread.getByText('This comment was deleted'), 'the tombstone is shown');
      assert.equal(await page.getByText(deleted.content).count(), 0);
    });
  });

  test('a guest posts, and the comment is there after a reload', async () => {
    const text = newText('A first comment');
    await withPage(newSubject(), {}, async (page) => {
      await has(page.getByText('Be the first to comment.'), 'the empty state');
      const comment = await post(page, text);
      assert.equal(await isFocused(comment), true, 'the new comment has the focus');
      assert.equal(await mainForm(page).locator('textarea').inputValue(), '');
      await has(page.getByText('Posting as Test guest'), 'the guest is named');
      await has(page.locator('h2', { hasText: '1 comment' }), 'the count follows');
      await page.reload();
      await has(commentWith(page, text), 'still there at once after a reload');
      assert.equal(await comments(page).filter({ hasText: text }).count(), 1);
    });
  });

  test('a reply stands under its comment', async () => {
    const [rootText, replyText] = [newText('Root'), newText('Reply')];
    await withPage(newSubject(), {}, async (page) => {
      const root = await post(page, rootText);
      await root.getByRole('button', { name: 'Reply' }).click();
      const form = root.locator('form.composer');
      assert.equal(await isFocused(form.locator('textarea')), true, 'the reply box has the focus');
      await send(form, replyText, 'Reply');
      const reply = page.locator('.list > .item .replies article').filter({ hasText: replyText });
      await has(reply, 'the reply is shown under the root');
      await acknowledged(reply);
      await page.reload();
      await has(reply, 'and after a reload');
    });
  });

  test('a like counts once and survives a reload; a second press takes it back', async () => {
    const text = newText('Likeable');
    await withPage(newSubject(), {}, async (page) => {
      const comment = await post(page, text);
      const like = comment.getByRole('button', { name: 'Like', exact: false }).first();
      const answered = page.waitForResponse((response) => response.url().endsWith('/like'));
      await like.click();
      await attributeBecomes(like, 'aria-pressed', 'true');
      await has(like.getByText('1', { exact: true }), 'the count is 1');
      await answered;
      await page.reload();
      const again = commentWith(page, text).locator('.act.like');
      await attributeBecomes(again, 'aria-pressed', 'true');
      await has(again.getByText('1', { exact: true }), 'the count is still 1');
      await again.click();
      await attributeBecomes(again, 'aria-pressed', 'false');
      await has(again.filter({ hasNotText: /\d/ }), 'the count is gone');
    });
  });

  test('a dislike replaces a like', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const comment = await post(page, newText('Divisive'));
      await comment.locator('.act.like').click();
      await has(comment.locator('.act.like').getByText('1', { exact: true }), 'liked');
      await comment.locator('.act.dislike').click();
      await attributeBecomes(comment.locator('.act.dislike'), 'aria-pressed', 'true');
      await attributeBecomes(comment.locator('.act.like'), 'aria-pressed', 'false');
      await has(comment.locator('.act.like').filter({ hasNotText: /\d/ }), 'the like is gone');
    });
  });

  test('a deep reply shows its whole chain', async () => {
    const lines = threads.filter((line) => line.subject === 'topic:building');
    const byId = new Map(lines.map((line) => [line.id, line]));
    const depth = (line) => (line.parent ? depth(byId.get(line.parent)) + 1 : 1);
    const deepest = lines.reduce((a, b) => (depth(b) > depth(a) ? b : a));
    await withPage('topic/building', {}, async (page) => {
      const root = lines.find((line) => line.id === deepest.root);
      const thread = page.locator('.list > .item')
        .filter({ has: page.locator('> article', { hasText: root.content.slice(0, 12) }) }).first();
      await thread.locator('> .more-replies').click();
      const comment = thread.locator('article').filter({ hasText: deepest.content.slice(0, 15) });
      await comment.getByRole('button', { name: /^All \d+ floors/ }).click();
      const chain = comment.locator('.chain');
      await has(chain.getByText(root.content.split('\n')[0].slice(0, 12)), 'the ground floor');
      const more = chain.getByRole('button', { name: /Show \d+ more floors/ });
      if (await more.isVisible()) await more.click();
      assert.equal(await chain.locator('li').count(), depth(deepest));
      await has(chain.locator('li').last().getByText(deepest.content.slice(0, 15)), 'the top');
    });
  });

  test('a permalink shows its comment and leads back to all', async () => {
    const text = newText('Linked to');
    const subject = newSubject();
    await withPage(subject, {}, async (page) => {
      const id = await (await post(page, text)).getAttribute('data-id');
      await post(page, newText('Another'));
      await listed(subject, 2);
      const other = await openPage(subject, { context: page.context(), hash: `#comment-${id}` });
      await has(other.locator('.linked .target').filter({ hasText: text }), 'the linked comment');
      await other.getByRole('button', { name: /Back to all comments/ }).click();
      await has(other.locator('.list .item').nth(1), 'the whole list');
      assert.equal(new URL(other.url()).hash, '');
    });
  });

  test('a blocked word is refused with its category and the text stays', {
    skip: BLOCKED_WORD ? false : 'E2E_BLOCKED_WORD is not set',
  }, async () => {
    const text = `${newText('This has')} ${BLOCKED_WORD} in it`;
    await withPage(newSubject(), {}, async (page) => {
      const form = mainForm(page);
      await send(form, text, 'Post');
      const message = form.getByRole('alert').filter({ hasText: 'not allowed here' });
      await has(message, 'the refusal is explained');
      if (BLOCKED_CATEGORY) {
        assert.match(await message.innerText(), new RegExp(`\\(categories: ${BLOCKED_CATEGORY}\\)`));
      }
      assert.equal(await form.locator('textarea').inputValue(), text);
      assert.equal(await comments(page).count(), 0);
    });
  });

  test('an own comment can be edited and deleted', async () => {
    const [text, edited] = [newText('Before'), newText('After')];
    await withPage(newSubject(), {}, async (page) => {
      const id = await (await post(page, text)).getAttribute('data-id');
      const comment = page.locator(`article[data-id="${id}"]`);
      await comment.getByRole('button', { name: 'Edit' }).click();
      await send(comment.locator('form.composer'), edited, 'Save');
      await has(comment.locator('.body').filter({ hasText: edited }), 'the new text');
      await has(comment.getByText('edited', { exact: true }), 'is marked');
      const answered = page.waitForResponse((response) => response.request().method() === 'DELETE');
      await comment.getByRole('button', { name: 'Delete' }).click();
      await comment.getByRole('group', { name: 'Delete this comment?' })
        .getByRole('button', { name: 'Delete' }).click();
      await has(comment.getByText('This comment was deleted'), 'the tombstone');
      await answered;
      await page.reload();
      await listLoaded(page);
      assert.equal(await page.getByText(edited).count(), 0, 'gone after a reload');
    });
  });

  test('Esc closes the reply form and gives the focus back', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const comment = await post(page, newText('Root'));
      const reply = comment.getByRole('button', { name: 'Reply' });
      await reply.click();
      await comment.locator('textarea').fill('half a thought');
      await page.keyboard.press('Escape');
      assert.equal(await comment.locator('form').count(), 0);
      assert.equal(await isFocused(reply), true);
      await reply.click();
      assert.equal(await comment.locator('textarea').inputValue(), 'half a thought', 'the draft');
    });
  });

  test('posting, liking and replying work with the keyboard alone', async () => {
    const [text, answer] = [newText('By keyboard'), newText('Answer')];
    await withPage(newSubject(), {}, async (page) => {
      const focused = () => page.evaluate(() => {
        let node = document.activeElement;
        while (node && node.shadowRoot) node = node.shadowRoot.activeElement;
        return node ? `${node.tagName} ${node.className} ${node.id}` : '';
      });
      const tabTo = async (pattern) => {
        for (let presses = 0; presses < 60; presses += 1) {
          await page.keyboard.press('Tab');
          if (pattern.test(await focused())) return;
        }
        assert.fail(`nothing like ${pattern} can be reached with the Tab key`);
      };
      await tabTo(/^INPUT .*name-/);
      await page.keyboard.type('Keyboard guest');
      await tabTo(/^TEXTAREA/);
      await page.keyboard.type(text);
      await tabTo(/^BUTTON .*primary/);
      await page.keyboard.press('Enter');
      const comment = page.locator('article[data-id]:not([data-id^="sending"])')
        .filter({ hasText: text });
      await has(comment, 'posted');
      await tabTo(/^BUTTON act like/);
      await page.keyboard.press('Space');
      await attributeBecomes(comment.locator('.act.like'), 'aria-pressed', 'true');
      await tabTo(/^BUTTON act reply/);
      await page.keyboard.press('Enter');
      await page.keyboard.type(answer);
      await page.keyboard.press('Control+Enter');
      await has(page.locator('.replies article').filter({ hasText: answer }), 'the reply');
    });
  });

  test('speaks English and Chinese', async () => {
    await withPage(newSubject(), { lang: 'en' }, async (page) => {
      await has(page.getByRole('button', { name: 'Post', exact: true }), 'English');
      await page.locator('#language').click();
      await has(page.getByRole('button', { name: '发表', exact: true }), '中文 after the switch');
      await has(page.getByText('快来抢沙发', { exact: false }), 'the empty state');
    });
    await withPage('article/hello', { lang: 'zh' }, async (page) => {
      await has(page.getByRole('button', { name: '最热' }), 'the sorts');
      await has(page.getByText('1楼', { exact: true }), 'the floors');
      await has(page.getByText('置顶', { exact: true }), 'the pin');
    });
  });

  test('every control has a name', async () => {
    await withPage('article/hello', {}, async (page) => {
      await page.locator('.list .act.reply').first().click();
      const nameless = await page.evaluate(() => {
        const root = document.querySelector('gailou-comments').shadowRoot;
        const label = (node) => node.getAttribute('aria-label')
          || [...(node.labels || [])].map((each) => each.textContent).join('')
          || (['BUTTON', 'A'].includes(node.tagName) ? node.textContent : '');
        const all = [...document.querySelectorAll('button, a[href], input, textarea, select'),
          ...root.querySelectorAll('button, a[href], input, textarea, select')];
        return all.filter((node) => !node.closest('[hidden]') && !label(node).trim())
          .map((node) => node.outerHTML);
      });
      assert.deepEqual(nameless, []);
      const structure = await page.evaluate(() => {
        const root = document.querySelector('gailou-comments').shadowRoot;
        const ids = [...root.querySelectorAll('[id]')].map((node) => node.id);
        const refs = [...root.querySelectorAll('[aria-labelledby], [aria-describedby]')]
          .flatMap((node) => [node.getAttribute('aria-labelledby'),
            node.getAttribute('aria-describedby')])
          .filter(Boolean).flatMap((value) => value.split(' '));
        return {
          doubled: ids.filter((id, index) => ids.indexOf(id) !== index),
          dangling: refs.filter((id) => !ids.includes(id)),
          imagesWithoutAlt: root.querySelectorAll('img:not([alt])').length,
          liveRegions: root.querySelectorAll('[aria-live="polite"]').length,
          timesWithoutDate: root.querySelectorAll('time:not([datetime])').length,
        };
      });
      assert.deepEqual(structure, {
        doubled: [], dangling: [], imagesWithoutAlt: 0, liveRegions: 1, timesWithoutDate: 0,
      });
    });
  });

  for (const theme of ['light', 'dark']) {
    test(`text has enough contrast (${theme})`, async () => {
      await withPage('article/hello', { colorScheme: theme }, async (page) => {
        await comments(page).first().waitFor();
        assert.deepEqual(await page.evaluate(lowContrast), []);
      });
    });
  }

  test('a phone has no horizontal scroll', async () => {
    for (const subject of ['article/hello', 'video/tour', 'topic/building', 'post/flat']) {
      await withPage(subject, { viewport: PHONE, lang: 'zh' }, async (page) => {
        await comments(page).first().waitFor();
        const more = await page.locator('.more-replies:visible').count();
        await page.locator('.more-replies').evaluateAll((buttons) =>
          buttons.filter((button) => !button.hidden).forEach((button) => button.click()));
        if (more) await has(page.locator('[aria-live]').filter({ hasText: /\d/ }), 'replies');
        const { scroll, client } = await page.evaluate(() => ({
          scroll: document.documentElement.scrollWidth,
          client: document.documentElement.clientWidth,
        }));
        assert.ok(scroll <= client, `${subject}: ${scroll} > ${client}`);
      });
    }
  });

  test('hostile content does not run', async () => {
    const mark = newText('Hostile');
    const hostile = `${mark} <img src=x onerror="window.pwned=1"> <script>window.pwned=1</script> `
      + '[click](javascript:window.pwned=1) <a href="javascript:window.pwned=1">here</a> '
      + '<svg onload="window.pwned=1"></svg> ![x](javascript:window.pwned=1)';
    await withPage(newSubject(), {}, async (page) => {
      const comment = await post(page, hostile, mark);
      await page.reload();
      await has(commentWith(page, mark), 'shown');
      assertHarmless(await comment.evaluate(inspectBody));
      for (const link of await comment.locator('.body a').all()) await link.click({ trial: true });
      assert.equal(await page.evaluate(() => window.pwned), undefined);
    });
  });

  test('hostile HTML from the server itself is taken apart', async () => {
    const context = await browser.newContext({ locale: 'en-US' });
    const evil = '<p onclick="window.pwned=1">still <b style="position:fixed">here</b>'
      + '<script>window.pwned=1</script><img src=x onerror="window.pwned=1">'
      + '<a href=" java\nscript:window.pwned=1">a</a><a href="data:text/html,x">b</a>'
      + '<svg><a href="javascript:window.pwned=1"><style><img src=x '
      + 'onerror="window.pwned=1"></style></a></svg>'
      + '<math><mtext><img src=x onerror="window.pwned=1"></mtext></math>'
      + '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>'
      + '<form action="https://evil.example"><button>x</button></form></p>';
    await context.route('**/v1/subjects/article/hello/comments?*', async (route) => {
      const response = await route.fetch();
      const page = await response.json();
      page.data.forEach((comment) => { comment.html = evil; });
      await route.fulfill({ response, json: page });
    });
    const page = await openPage('article/hello', { context });
    try {
      const body = page.locator('.body').filter({ hasText: 'still here' }).first();
      await has(body, 'the harmless part is shown');
      assertHarmless(await body.evaluate((node) => ({
        tags: [...node.querySelectorAll('*')].map((each) => each.localName),
        attributes: [...node.querySelectorAll('*')].flatMap((each) => each.getAttributeNames()),
        links: [...node.querySelectorAll('a')].map((each) => each.getAttribute('href')),
      })));
      assert.equal(await page.evaluate(() => window.pwned), undefined);
    } finally {
      await context.close();
    }
  });

  test('a post with an unknown outcome is sent again with its key and stands once', async () => {
    const text = newText('Sent twice');
    const subject = newSubject();
    const context = await browser.newContext({ locale: 'en-US' });
    const keys = [];
    await context.route('**/v1/subjects/*/*/comments', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      keys.push(route.request().headers()['idempotency-key']);
      if (keys.length > 1) return route.fallback();
      await route.fetch(); // the first attempt lands, its answer is lost
      return route.abort('connectionreset');
    });
    const page = await openPage(subject, { context });
    try {
      await post(page, text);
      assert.equal(keys.length, 2);
      assert.ok(keys[0] && keys[0] === keys[1], 'one key for both attempts');
      await page.reload();
      await has(commentWith(page, text), 'posted');
      assert.equal(await comments(page).filter({ hasText: text }).count(), 1);
    } finally {
      await context.close();
    }
  });

  test('a reload in the midst of an unknown outcome keeps the text and the key', async () => {
    const text = newText('Interrupted');
    const context = await browser.newContext({ locale: 'en-US' });
    const keys = [];
    let isCut = true;
    await context.route('**/v1/subjects/*/*/comments', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      keys.push(route.request().headers()['idempotency-key']);
      if (!isCut) return route.fallback();
      await route.fetch(); // stored, but the answer never arrives
      return route.abort('connectionreset');
    });
    const page = await openPage(newSubject(), { context });
    try {
      const form = mainForm(page);
      await send(form, text, 'Post');
      await has(form.getByRole('status').filter({ hasText: 'retrying is safe' }), 'it says so');
      await page.reload();
      assert.equal(await form.locator('textarea').inputValue(), text);
      isCut = false;
      await form.getByRole('button', { name: 'Post', exact: true }).click();
      await has(commentWith(page, text).and(page.locator(':not([data-id^="sending"])')), 'posted');
      assert.equal(new Set(keys).size, 1, 'one key throughout');
      await page.reload();
      await has(commentWith(page, text), 'still there');
      assert.equal(await comments(page).filter({ hasText: text }).count(), 1);
    } finally {
      await context.close();
    }
  });

  test('a permalink to nothing says so and shows the list', async () => {
    await withPage('article/hello', { hash: '#comment-1' }, async (page) => {
      await has(page.getByText('The linked comment could not be found.'), 'the note');
      await has(comments(page), 'the list');
    });
  });

  test('an expired cursor starts again past the caches and shows nothing twice', async () => {
    const page1 = await fetchJson('/v1/subjects/article/hello/comments?sort=old&limit=4');
    const context = await browser.newContext({ locale: 'en-US' });
    const requests = [];
    // `Cache-Control: no-cache` is added by the browser below the level a test can listen at.
    await context.addInitScript(() => {
      window.cacheModes = [];
      const { fetch } = window;
      window.fetch = (address, init) => {
        if (String(address).includes('/comments?')) window.cacheModes.push(init.cache);
        return fetch(address, init);
      };
    });
    await context.route('**/v1/subjects/article/hello/comments?*', async (route) => {
      const url = new URL(route.request().url());
      requests.push(url.searchParams.get('cursor'));
      if (requests.length === 1) return route.fulfill({ json: page1 });
      if (requests.length === 2) {
        return route.fulfill({ status: 410, contentType: 'application/problem+json',
          body: JSON.stringify({ status: 410, code: 'cursor_expired' }) });
      }
      return route.fallback();
    });
    const page = await openPage('article/hello', { context });
    try {
      const roots = threads.filter((line) => line.subject === 'article:hello' && !line.parent);
      await page.locator('.foot').scrollIntoViewIfNeeded();
      await has(page.locator('.list > .item').nth(roots.length - 1), 'all roots are shown');
      const ids = await page.locator('.list article')
        .evaluateAll((nodes) => nodes.map((node) => node.dataset.id));
      assert.equal(new Set(ids).size, ids.length, 'no comment stands twice');
      assert.equal(requests[2], null, 'started again');
      assert.deepEqual(await page.evaluate(() => window.cacheModes.slice(0, 3)),
        ['default', 'default', 'reload'], 'past every cache');
    } finally {
      await context.close();
    }
  });

  test('the element is small', async () => {
    const script = await (await fetch(`${BASE}/gailou.js`)).arrayBuffer();
    const { length } = gzipSync(script, { level: 9 });
    assert.ok(length < 30_000, `${length} bytes`);
  });

  test('two script tags on one page make two threads', async () => {
    const [one, two] = [newSubject(), newSubject()];
    const page = await openPage(newSubject());
    try {
      await page.evaluate(([first, second]) => {
        for (const subject of [first, second]) {
          const script = document.createElement('script');
          script.src = '/gailou.js';
          script.dataset.subject = subject;
          document.body.append(script);
        }
      }, [one, two]);
      for (const subject of [one, two]) {
        await has(page.locator(`script + gailou-comments[subject="${subject}"]`), subject);
      }
      assert.deepEqual(page.problems, []);
    } finally {
      await page.context().close();
    }
  });
});

async function fetchJson(path) {
  const response = await fetch(BASE + path);
  assert.equal(response.status, 200, path);
  return response.json();
}

/** Runs in the page: what a comment's body is made of. */
function inspectBody(article) {
  const body = article.querySelector('.body');
  const all = [...body.querySelectorAll('*')];
  return {
    tags: all.map((node) => node.localName),
    attributes: all.flatMap((node) => node.getAttributeNames()),
    links: [...body.querySelectorAll('a')].map((node) => node.getAttribute('href')),
  };
}

function assertHarmless({ tags, attributes, links }) {
  const dangerous = ['script', 'img', 'svg', 'math', 'iframe', 'form', 'style', 'object'];
  assert.deepEqual(tags.filter((tag) => dangerous.includes(tag)), []);
  assert.deepEqual(attributes.filter((name) => name.startsWith('on') || name === 'style'), []);
  assert.deepEqual(links.filter((href) => href && !/^(https?|mailto):/.test(href)), []);
}

/** Runs in the page: visible texts whose contrast is below 4.5:1 (3:1 from 24 px on). */
function lowContrast() {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const backgroundOf = (node) => {
    for (let at = node; at; at = at.parentElement || at.getRootNode().host) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const root = document.querySelector('gailou-comments').shadowRoot;
  const low = [];
  for (const node of [...document.body.querySelectorAll('*'), ...root.querySelectorAll('*')]) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node.closest('.sr')) continue;
    const style = getComputedStyle(node);
    const [a, b] = [luminance(rgba(style.color)), luminance(backgroundOf(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const needed = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
    if (ratio < needed) low.push(`${node.className} "${node.textContent.slice(0, 30)}" ${ratio}`);
  }
  return low;
}
