// What a reader does with a list: its order, and all replies of a comment.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  call,
  callUntil,
  guestToken,
  listWithRoots,
  memberToken,
  newSubject,
  postComment,
  subjectPath,
} from './support/api.mjs';
import { until, violations } from './support/console.mjs';
import { BASE, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import {
  assertAttribute,
  assertVisible,
  commentWith,
  isFocused,
  listIsLoaded,
  newText,
  postOnPage,
  sendForm,
  withPage,
} from './support/page.mjs';

const sortButton = (page, name) => page.locator('.sorts').getByRole('button', { name });

describe('lists', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('chosen order is kept for the site, and survives another language', async () => {
    await withPage('article/hello', {}, async (page) => {
      await sortButton(page, 'Oldest').click();
      await assertAttribute(sortButton(page, 'Oldest'), 'aria-pressed', 'true');
      const asked = page.waitForRequest(/comments\?sort=/);
      await page.reload();
      assert.match((await asked).url(), /sort=old/, 'the first request has it');
      await page.locator('gailou-comments').scrollIntoViewIfNeeded();
      await listIsLoaded(page);
      await assertAttribute(sortButton(page, 'Oldest'), 'aria-pressed', 'true');
      await page.locator('gailou-comments').evaluate((node) => node.setAttribute('lang', 'de'));
      await assertAttribute(sortButton(page, 'Älteste'), 'aria-pressed', 'true');
      await page.locator('gailou-comments').evaluate((node) => node.setAttribute('lang', 'en'));
      await assertAttribute(sortButton(page, 'Oldest'), 'aria-pressed', 'true');
    });
  });

  test('button of the next page comes with what loads that page', async () => {
    const subject = newSubject();
    const token = await guestToken();
    for (let number = 1; number <= 22; number += 1) {
      await postComment(subject, `number ${number}`, token);
    }
    await listWithRoots(subject, 20);
    let release;
    const isReleased = new Promise((resolve) => {
      release = resolve;
    });
    const prepare = (context) =>
      context.route('**/gailou/more-roots-*.js', async (route) => {
        await isReleased;
        await route.continue();
      });
    await withPage(subject, { prepare, query: '&sort=old' }, async (page) => {
      const roots = page.locator('gailou-comments .list > *');
      assert.equal(await roots.count(), 20);
      assert.ok(await page.locator('.foot button').isHidden());
      release();
      await page.locator('.foot').scrollIntoViewIfNeeded();
      await assertVisible(roots.nth(21), 'all are loaded');
      assert.ok(await page.locator('.foot button').isHidden());
    });
  });

  test('Back leads to the place in a long list that the reader has left', async () => {
    const subject = newSubject();
    const token = await guestToken();
    for (let number = 1; number <= 45; number += 1) {
      await postComment(subject, `number ${number}`, token);
    }
    await listWithRoots(subject, 20);
    const roots = (page) => page.locator('gailou-comments .list > *');
    const topOf = (page, number) =>
      roots(page)
        .filter({ hasText: new RegExp(`number ${number}\\b`) })
        .evaluate((node) => node.getBoundingClientRect().top);
    await withPage(subject, { query: '&sort=old' }, async (page) => {
      for (const last of [20, 40, 45]) {
        await roots(page)
          .nth(last - 1)
          .waitFor();
        await page.locator('.foot').scrollIntoViewIfNeeded();
      }
      const above = await topOf(page, 30);
      await page.evaluate((distance) => scrollBy(0, distance), above + 30);
      const before = await topOf(page, 30);
      assert.ok(Math.abs(before + 30) < 2, `${before}`);
      await page.goto(`${BASE}/healthz`);
      await page.goBack();
      const after = await until(
        () => topOf(page, 30).catch(() => Number.NaN),
        (top) => Math.abs(top - before) < 24,
      );
      assert.ok(Math.abs(after - before) < 24, `${before} and ${after}`);
    });
  });

  test('order that the page names wins', async () => {
    const prepare = (context) =>
      context.addInitScript(() => localStorage.setItem('gailou:sort', 'old'));
    await withPage('article/hello', { prepare, query: '&sort=top' }, async (page) => {
      await assertAttribute(sortButton(page, 'Top'), 'aria-pressed', 'true');
      await sortButton(page, 'New').click();
      await assertAttribute(sortButton(page, 'New'), 'aria-pressed', 'true');
      await page.locator('gailou-comments').evaluate((node) => node.setAttribute('lang', 'de'));
      await assertAttribute(sortButton(page, 'Neueste'), 'aria-pressed', 'true');
    });
  });

  test('order is shown when its list has come, and can be chosen again when it has not', async () => {
    let isDown = true;
    const prepare = (context) =>
      context.route('**/comments?sort=top**', (route) =>
        isDown ? route.fulfill({ status: 500, json: { code: 'internal' } }) : route.fallback(),
      );
    await withPage('article/hello', { prepare }, async (page) => {
      await sortButton(page, 'Top').click();
      await assertVisible(page.getByText('The comments could not be loaded.'), 'the failure');
      await assertAttribute(sortButton(page, 'Hot'), 'aria-pressed', 'true');
      await assertAttribute(sortButton(page, 'Top'), 'aria-pressed', 'false');
      isDown = false;
      await sortButton(page, 'Top').click();
      await assertAttribute(sortButton(page, 'Top'), 'aria-pressed', 'true');
    });
  });

  test('few comments have no sorts, unless one was chosen', async () => {
    const subject = newSubject();
    const token = await guestToken();
    for (let posted = 0; posted < 4; posted += 1) {
      await postComment(subject, `comment ${posted}`, token);
    }
    await listWithRoots(subject, 4);
    await withPage(subject, {}, async (page) => {
      assert.equal(await page.locator('.sorts').isVisible(), false);
      await page.evaluate(() => localStorage.setItem('gailou:sort', 'old'));
      await page.reload();
      await page.locator('gailou-comments').scrollIntoViewIfNeeded();
      await listIsLoaded(page);
      await sortButton(page, 'Hot').click();
      await assertAttribute(sortButton(page, 'Hot'), 'aria-pressed', 'true');
      assert.equal(await isFocused(sortButton(page, 'Hot')), true, 'a used bar stays');
    });
  });

  test('empty thread invites, and a closed one says so in the place of the form', {
    skip: skipWithout({ E2E_TOKEN_SECRET: TOKEN_SECRET }),
  }, async () => {
    const subject = newSubject();
    const shown = async (page) => [
      await page.locator('form.composer').isVisible(),
      await page.locator('.empty').isVisible(),
      await page.locator('.note:visible').allTextContents(),
    ];
    await withPage(subject, {}, async (page) => {
      assert.deepEqual(await shown(page), [true, true, []]);
      await assertVisible(page.getByText('Be the first to comment.'), 'the invitation');
      const search = page.getByRole('button', { name: 'Search', exact: true });
      assert.equal(await search.count(), 0, 'there is nothing to find');
      await postOnPage(page, newText('The first'));
      await assertVisible(search, 'there is something now');
    });
    const body = { state: 'closed' };
    const token = memberToken('900', 'A moderator', 'admin');
    const path = `/v1/admin/subjects/${subjectPath(subject)}`;
    assert.equal((await call('PUT', path, { body, token })).status, 200);
    const list = `/v1/subjects/${subjectPath(subject)}/comments?sort=hot&limit=20&view=compact`;
    await callUntil(list, ({ data }) => data?.subject?.state === 'closed');
    await withPage(subject, {}, async (page) => {
      await assertVisible(page.getByText('Comments are closed here.'), 'closed');
      assert.deepEqual(await shown(page), [false, false, ['Comments are closed here.']]);
    });
  });

  test('all replies come below those that are there, and can be folded again', async () => {
    const subject = newSubject('video');
    const token = await guestToken('Replier');
    const root = await postComment(subject, 'The root', token);
    for (let n = 1; n <= 5; n += 1) await postComment(subject, `Reply ${n}`, token, root.id);
    await listWithRoots(subject, 1);
    const path = `/v1/subjects/${subjectPath(subject)}/comments`;
    await callUntil(path, ({ data }) => data?.data?.[0]?.more_replies === 2);
    await withPage(subject, {}, async (page) => {
      const item = page.locator('.list > .item');
      const texts = () => item.locator('.replies .body:visible').allTextContents();
      const before = await texts();
      assert.equal(before.length, 3);
      await item.getByRole('button', { name: 'Show all 5 replies' }).click();
      const fold = item.getByRole('button', { name: 'Show fewer replies' });
      await assertVisible(fold, 'they can be folded');
      const after = await texts();
      assert.deepEqual(after.slice(0, 3), before, 'they stay where they were');
      assert.equal(new Set(after.map((each) => each.trim())).size, 5);
      await fold.click();
      assert.deepEqual(await texts(), before);
      await item.getByRole('button', { name: 'Show all 5 replies' }).click();
      assert.deepEqual(await texts(), after);
    });
  });

  test('replies of a root are folded by a button under its picture, which the tab remembers', async () => {
    const subject = newSubject('video');
    const token = await guestToken('Folder');
    const root = await postComment(subject, 'The root', token);
    await postComment(subject, 'A reply', token, root.id);
    const path = `/v1/subjects/${subjectPath(subject)}/comments`;
    await callUntil(path, ({ data }) => data?.data?.[0]?.top_replies?.length === 1);
    await withPage(subject, {}, async (page) => {
      const item = page.locator('.list > .item');
      const reply = item.locator('.replies article');
      await item.locator('.act.like').first().focus();
      const rail = item.getByRole('button', { name: 'Fold the replies' });
      await assertVisible(rail, 'the button');
      await assertAttribute(rail, 'tabindex', '-1');
      await rail.click();
      assert.equal(await reply.isVisible(), false);
      const row = item.getByRole('button', { name: 'Show the replies (1)' });
      assert.equal(await isFocused(row), true);
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await page.reload();
      await page.locator('gailou-comments').scrollIntoViewIfNeeded();
      await listIsLoaded(page);
      await assertVisible(row, 'it is folded after a reload');
      assert.equal(await reply.isVisible(), false);
      await row.click();
      assert.equal(await reply.isVisible(), true);
      assert.equal(await isFocused(rail), true);
      await rail.click();
      await item.getByRole('button', { name: 'Reply' }).click();
      await sendForm(item.locator('article').first().locator('form'), newText('Own'), 'Reply');
      await assertVisible(reply.filter({ hasText: 'Own' }), 'what one writes is seen');
    });
  });

  test('any branch of a tree is folded by itself, and a link into it unfolds all that is around it', async () => {
    const subject = newSubject();
    const token = await guestToken('Folder');
    const root = await postComment(subject, 'The root', token);
    const branch = await postComment(subject, 'A branch', token, root.id);
    const leaf = await postComment(subject, 'A leaf', token, branch.id);
    await postComment(subject, 'A sibling', token, root.id);
    const path = `/v1/subjects/${subjectPath(subject)}/comments`;
    await callUntil(path, ({ data }) => data?.data?.[0]?.top_replies?.length === 3);
    await withPage(subject, {}, async (page) => {
      const [whole, part] = [root, branch].map(({ id }) =>
        page.locator('.list .item').filter({ has: page.locator(`> article[data-id="${id}"]`) }),
      );
      const [leafText, sibling] = ['A leaf', 'A sibling'].map((text) => commentWith(page, text));
      const rail = (item) => item.locator('> article .rail');
      const row = (item) => item.locator('> .folded-row');
      await assertVisible(leafText, 'the leaf');
      await whole.locator('> article .act.like').focus();
      await assertVisible(rail(part), 'a button at the branch');
      assert.equal(await page.locator('.rail').count(), 2, 'where there are replies');
      const stops = await part
        .locator('> article')
        .evaluate((article) =>
          [...article.querySelectorAll('a, button')]
            .filter((each) => each.tabIndex >= 0 && each.checkVisibility())
            .map(({ className }) => className),
        );
      assert.deepEqual(stops, ['like act'], 'one stop of the Tab key');
      await rail(part).click();
      assert.equal(await leafText.isVisible(), false);
      assert.equal(await sibling.isVisible(), true);
      assert.equal(await row(part).textContent(), 'Show the replies (1)');
      assert.equal(await isFocused(row(part)), true);
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await rail(whole).click();
      await page.reload();
      await page.locator('gailou-comments').scrollIntoViewIfNeeded();
      await listIsLoaded(page);
      await assertVisible(row(whole), 'the root is folded after a reload');
      await row(whole).click();
      assert.equal(await sibling.isVisible(), true);
      assert.equal(await leafText.isVisible(), false, 'the branch is folded after a reload');
      await rail(whole).click();
      await page.evaluate((id) => {
        location.hash = `#comment-${id}`;
      }, leaf.id);
      await assertVisible(leafText, 'what is linked is seen');
      assert.equal(await row(part).isVisible(), false);
    });
  });
});
