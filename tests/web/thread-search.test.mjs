// The search in a thread: what is found, where it leads, and what it says where nothing is.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { callUntil, guestToken, newSubject, postComment, subjectPath } from './support/api.mjs';
import { violations } from './support/console.mjs';
import { BASE, NARROW, skipWithout } from './support/environment.mjs';
import { lowContrast } from './support/inspect.mjs';
import { assertVisible, isFocused, newText, withPage } from './support/page.mjs';

/** A subject with a comment that is found by this word, and one that is not. */
async function subjectWith(word) {
  const subject = newSubject();
  const token = await guestToken('Finder');
  const root = await postComment(subject, `There is ${word} in it`, token);
  await postComment(subject, 'Another one', token);
  const path = `/v1/subjects/${subjectPath(subject)}/search?q=${word}`;
  await callUntil(path, ({ data }) => data?.data?.length === 1);
  return { subject, root };
}

async function openSearch(page) {
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  const search = page.getByRole('search', { name: 'Search in these comments' });
  await assertVisible(search, 'the search');
  return search;
}

const newWord = () => newText('word').replace(/[ -]/g, '');

describe('search in a thread', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('found comment is marked, and opens in its place', async () => {
    const word = newWord();
    const { subject, root } = await subjectWith(word);
    await withPage(subject, {}, async (page) => {
      const search = await openSearch(page);
      assert.equal(await isFocused(search.getByRole('searchbox')), true);
      await page.keyboard.type(word);
      await assertVisible(search.getByText('Comments found: 1'), 'the number');
      assert.equal(await search.locator('mark').textContent(), word);
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await search.getByRole('link', { name: 'Finder' }).click();
      const article = page.locator(`.list article[data-id="${root.id}"]:focus`);
      await assertVisible(article, 'the comment, which has the focus');
      await assertVisible(page.locator('.item.target'), 'it is marked');
      assert.equal(new URL(page.url()).hash, `#comment-${root.id}`);
    });
  });

  test('nothing found is said, and Esc closes', async () => {
    await withPage('article/hello', {}, async (page) => {
      const search = await openSearch(page);
      await page.keyboard.type('zzzznothing');
      await assertVisible(search.getByText('Nothing was found.'), 'the sentence');
      await page.keyboard.press('Escape');
      assert.equal(await search.isVisible(), false);
      const button = page.getByRole('button', { name: 'Search', exact: true });
      assert.equal(await isFocused(button), true);
      assert.equal(await button.getAttribute('aria-expanded'), 'false');
    });
  });

  test('further results are loaded by a button', async () => {
    const word = newWord();
    const { subject } = await subjectWith(word);
    let pages = 0;
    const prepare = (context) =>
      context.route('**/search?**', async (route) => {
        const response = await route.fetch({
          url: route
            .request()
            .url()
            .replace(/&cursor=.*/, ''),
        });
        const body = await response.json();
        pages += 1;
        const page = { next: 'next', has_more: pages === 1 };
        return route.fulfill({ json: { ...body, page } });
      });
    await withPage(subject, { prepare }, async (page) => {
      const search = await openSearch(page);
      await page.keyboard.type(word);
      await search.getByRole('button', { name: 'Load more comments' }).click();
      await assertVisible(search.getByText('Comments found: 2'), 'both');
      assert.equal(await isFocused(search.getByRole('link').last()), true);
      assert.equal(
        await search.getByRole('button', { name: 'Load more comments' }).isVisible(),
        false,
      );
    });
  });

  for (const [status, isHidden] of [
    [404, true],
    [501, true],
    [503, false],
  ]) {
    test(`server that answers ${status} has no search`, async () => {
      const prepare = (context) =>
        context.route('**/search?**', (route) =>
          route.fulfill({ status, json: { code: 'not_found', status } }),
        );
      await withPage('article/hello', { prepare }, async (page) => {
        const search = await openSearch(page);
        await page.keyboard.type('wall');
        await assertVisible(
          search.getByText('One cannot search here at the moment.'),
          'the sentence',
        );
        const button = page.getByRole('button', { name: 'Search', exact: true });
        assert.equal(await button.isHidden(), isHidden);
      });
    });
  }

  for (const colorScheme of ['light', 'dark']) {
    test(`results are readable and fit into a phone (${colorScheme})`, async () => {
      const word = newWord();
      const { subject } = await subjectWith(word);
      await withPage(subject, { viewport: NARROW, colorScheme }, async (page) => {
        const search = await openSearch(page);
        await page.keyboard.type(word);
        await assertVisible(search.getByText('Comments found: 1'), 'the number');
        const low = await page.evaluate(lowContrast);
        assert.deepEqual(low, []);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= NARROW.width, `${width} px wide`);
      });
    });
  }
});
