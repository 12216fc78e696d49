// The elements beside the comments: counts, the newest comments, the bell.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { memberToken, newSubject, postComment, subjectPath } from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import { admin, newMember, until, violations } from './support/console.mjs';
import {
  BASE,
  DESKTOP,
  NARROW,
  skipWithout,
  TOKEN_SECRET,
  WAIT_MS,
} from './support/environment.mjs';
import { newText, sendForm } from './support/page.mjs';

const WRITER = () => memberToken('920', 'Wendy');

/**
 * Runs `steps` on a page of the server with this in its body. `steps` gets the page and the addresses that it has asked for.
 */
async function onHostPage(body, { lang = 'en', prepare } = {}, steps) {
  const context = await newContext();
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const [asked, problems] = [[], []];
    page.on('request', (request) => asked.push(new URL(request.url())));
    page.on('pageerror', (error) => problems.push(error.message));
    await page.route('**/host.html', (route) =>
      route.fulfill({
        contentType: 'text/html; charset=utf-8',
        body: `<!doctype html><html lang="${lang}"><body>${body}<script src="/gailou.js"></script>`,
      }),
    );
    await prepare?.(page);
    await page.goto(`${BASE}/host.html`);
    await steps(page, asked);
    assert.deepEqual(problems, [], 'no script error on the page');
  } finally {
    await context.close();
  }
}

const textIs = (locator, text) =>
  until(
    () => locator.textContent(),
    (found) => found === text,
  );

const countCalls = (asked) => asked.filter(({ pathname }) => pathname === '/v1/counts');

describe('elements beside the comments', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('counts of a page are asked for together, and follow their attributes', async () => {
    const [two, one, none] = [newSubject(), newSubject(), newSubject('video')];
    for (const subject of [two, two, one]) await postComment(subject, newText('Counted'), WRITER());
    const body = `
      <gailou-count id="a" subject="${two}">–</gailou-count>
      <a id="b" data-gailou-count="${one}">–</a>
      <p><gailou-count id="c" subject="${none}">–</gailou-count></p>
      <gailou-count id="d" subject="${two}"></gailou-count>
      <gailou-count id="e">–</gailou-count>`;
    await onHostPage(body, {}, async (page, asked) => {
      for (const [id, text] of Object.entries({ a: '2', b: '1', c: '0', d: '2', e: '–' })) {
        await textIs(page.locator(`#${id}`), text);
      }
      assert.equal(countCalls(asked).length, 1);
      assert.equal(countCalls(asked)[0].searchParams.getAll('subject').length, 3);

      await page.locator('#a').evaluate((node, name) => node.setAttribute('subject', name), one);
      await page.locator('#b').evaluate((node, name) => {
        node.dataset.gailouCount = name;
      }, two);
      await textIs(page.locator('#a'), '1');
      await textIs(page.locator('#b'), '2');
      assert.equal(countCalls(asked).length, 1, 'what is known is not asked for again');

      const later = newSubject();
      await postComment(later, newText('Counted'), WRITER());
      await page.evaluate((name) => {
        document.body.insertAdjacentHTML('beforeend', `<i id="f" data-gailou-count="${name}"></i>`);
      }, later);
      await textIs(page.locator('#f'), '1');
    });
  });

  test('count of a page that gets its first element later is found', async () => {
    const subject = newSubject();
    await postComment(subject, newText('Counted'), WRITER());
    await onHostPage('', {}, async (page, asked) => {
      await page.waitForFunction(() => customElements.get('gailou-comments'));
      assert.deepEqual(countCalls(asked), []);
      await page.evaluate((name) => {
        document.body.insertAdjacentHTML('beforeend', `<b data-gailou-count="${name}"></b>`);
      }, subject);
      await textIs(page.locator('b'), '1');
    });
  });

  test('more subjects than a call may have are several calls', async () => {
    const subjects = Array.from({ length: 101 }, () => newSubject());
    const body = subjects.map((name) => `<gailou-count subject="${name}"></gailou-count>`).join('');
    await onHostPage(body, {}, async (page, asked) => {
      await page.waitForFunction(() =>
        [...document.querySelectorAll('gailou-count')].every((node) => node.textContent === '0'),
      );
      const sizes = countCalls(asked).map((url) => url.searchParams.getAll('subject').length);
      assert.deepEqual(sizes, [100, 1]);
    });
  });

  test('count follows the comments that are read on the same page, in the digits of its language', async () => {
    const subject = newSubject();
    const body = `<gailou-count subject="${subject}"></gailou-count>
      <gailou-comments subject="${subject}" lang="en"></gailou-comments>`;
    await onHostPage(body, {}, async (page) => {
      const count = page.locator('gailou-count');
      await textIs(count, '0');
      await sendForm(page.locator('gailou-comments form.composer'), newText('Another'), 'Post');
      await textIs(count, '1');
      await page.evaluate((name) => {
        const detail = { subject: name, count: 12_345 };
        document.documentElement.lang = 'de';
        document.dispatchEvent(new CustomEvent('gailou:count', { detail }));
      }, subject);
      await textIs(count, '12.345');
    });
  });

  test('what is in the elements stays while the server does not answer', async () => {
    const prepare = (page) => page.route('**/v1/**', (route) => route.abort());
    const body = `<gailou-count subject="${newSubject()}">some</gailou-count><gailou-latest></gailou-latest>`;
    await onHostPage(body, { prepare }, async (page, asked) => {
      await page.getByText('The comments could not be loaded.').waitFor();
      await until(
        async () => countCalls(asked).length,
        (calls) => calls > 0,
      );
      assert.equal(await page.locator('gailou-count').textContent(), 'some');
    });
  });

  test('newest comments link to their pages, as text', async () => {
    const subject = newSubject();
    const [type, key] = subject.split('/');
    const url = `${BASE}/host.html?${randomUUID()}`;
    const title = 'A <b>bold</b> page';
    await admin('PUT', `/v1/admin/subjects/${subjectPath(subject)}`, { title, url });
    const text = newText('**Loud** <script>alert(1)</script>');
    const comment = await postComment(subject, text, memberToken('921', 'Lena <i>'));
    const body = `<gailou-latest type="${type}" limit="1"></gailou-latest>`;
    await onHostPage(body, {}, async (page) => {
      const items = page.locator('gailou-latest li');
      await until(
        async () => (await items.allTextContents()).join(' '),
        (shown) => shown.includes('Lena <i>') && shown.includes(title) && shown.includes('Loud'),
      );
      assert.equal(await items.count(), 1);
      assert.equal(await items.locator('a').getAttribute('href'), `${url}#comment-${comment.id}`);
      assert.equal(await items.locator('b, i, script').count(), 0, 'nothing of it is an element');

      await page.locator('gailou-latest').evaluate((node) => {
        node.setAttribute('limit', '3');
        node.setAttribute('lang', 'ar');
      });
      await page.locator('gailou-latest section[dir="rtl"]').waitFor();
      assert.equal(await items.count(), 3);
      await page
        .locator('gailou-latest')
        .evaluate((node) => node.setAttribute('type', 'none-such'));
      await page.getByText('تعذّر تحميل التعليقات.').waitFor();
    });
    assert.ok(key);
  });

  test('bell shows what is unread to who is signed in, and leads to the page of the comment', async () => {
    const subject = newSubject();
    const url = `${BASE}/host.html?${randomUUID()}`;
    await admin('PUT', `/v1/admin/subjects/${subjectPath(subject)}`, { title: 'Page', url });
    const reader = newMember('Reader');
    const root = await postComment(subject, newText('Mine'), reader.token);
    const answer = newText('An answer');
    const reply = await postComment(subject, answer, WRITER(), root.id);
    await onHostPage('<gailou-bell></gailou-bell>', {}, async (page) => {
      const bell = page.locator('gailou-bell button.bell');
      await bell.waitFor({ state: 'attached' });
      assert.equal(await bell.isVisible(), false, 'no one is signed in');
      const unread = page.getByRole('button', { name: '1 unread notification' });
      await until(
        async () => {
          await page.locator('gailou-bell').evaluate((node, token) => {
            node.token = token;
          }, reader.token);
          await page.waitForTimeout(500);
          return unread.isVisible();
        },
        (isShown) => isShown,
      );
      await unread.click();
      await page.getByText('Wendy replied to you').waitFor();
      await page
        .getByRole('button', { name: 'Notifications', exact: true })
        .waitFor({ state: 'attached' });
      await page.getByRole('link', { name: answer }).click();
      await page.waitForURL(`${url}#comment-${reply.id}`);
    });
  });

  test('demo page has every element, fits, and has no violation', async () => {
    for (const [viewport, colorScheme] of [
      [DESKTOP, 'light'],
      [NARROW, 'dark'],
    ]) {
      const context = await newContext({ viewport, colorScheme });
      const page = await context.newPage();
      page.setDefaultTimeout(WAIT_MS);
      await page.goto(`${BASE}/?lang=en`);
      await page.locator('gailou-latest li').nth(5).waitFor();
      const count = page.locator('gailou-count').first();
      await until(
        () => count.textContent(),
        (text) => Number(text) > 20,
      );
      const bell = await page.locator('gailou-bell').evaluate((node) => Boolean(node.shadowRoot));
      assert.equal(bell, true);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= viewport.width, `${wide}`);
      const found = await violations(page);
      assert.deepEqual(
        found.filter((fault) => !fault.includes('Skip to the comments')),
        [],
      );
      await context.close();
    }
  });
});
