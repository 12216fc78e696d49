// Buildings: frames, the gap, what a floor offers, links to comments, answers that arrive, and long texts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import {
  call,
  callUntil,
  guestToken,
  listWithRoots,
  newSubject,
  postComment,
  subjectPath,
} from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import { BASE, PHONE, skipWithout } from './support/environment.mjs';
import { replaceEventSource, sendEvent } from './support/event-source.mjs';
import {
  assertAttribute,
  assertVisible,
  comments,
  isFocused,
  usedPartsRun,
  withPage,
} from './support/page.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

/** A root, and each comment an answer to the one before; listed, beside so many `others`. */
async function postChain(subject, length, others = 0) {
  const chain = [];
  while (chain.length < length) {
    // A writer has a few comments a minute.
    const token = await guestToken(`Writer ${chain.length + 1}`);
    chain.push(await postComment(subject, `text ${chain.length + 1}.`, token, chain.at(-1)?.id));
  }
  await callUntil(
    `/v1/subjects/${subjectPath(subject)}/comments`,
    ({ data }) => data?.subject?.comments === length + others,
  );
  return chain;
}

const articleOf = (page, { id }) => page.locator(`article[data-id="${id}"]`);

/** The texts of the floors that are drawn, the ground floor first. */
const floorsOf = (article) => article.locator('.bld .fl .body').allTextContents();

/** Opens all replies of the only root. */
async function openReplies(page) {
  await page.locator('.list > .item > .more-replies').click();
}

async function assertNoViolation(page, what) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run());
  const found = violations.map(({ id, nodes }) => [id, nodes[0].html]);
  assert.deepEqual(found, [], what);
}

describe('buildings', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('answer stands on its frames, the newest outermost, and the gap opens in place', async () => {
    const chain = await postChain(newSubject('topic'), 12);
    const [subject, top] = [`topic/${chain[0].subject.key}`, chain.at(-1)];
    for (const options of [{}, { viewport: PHONE, lang: 'zh', colorScheme: 'dark' }]) {
      await withPage(subject, options, async (page) => {
        await openReplies(page);
        const article = articleOf(page, top);
        await article.locator('.bld').waitFor();
        const texts = (numbers) => numbers.map((n) => `text ${n}.`);
        const shown = (await floorsOf(article)).map((text) => text.trim());
        // Everything above the root is on the page, so nothing more was fetched.
        assert.deepEqual(shown, texts([1, 2, 9, 10, 11]));
        assert.equal(await article.locator('.fr').count(), 5);
        const innermost = article.locator('.fr .fr .fr .fr .fr .body');
        assert.equal((await innermost.textContent()).trim(), 'text 1.');
        const floor = options.lang === 'zh' ? '12 层' : 'floor 12';
        await assertVisible(article.getByText(floor, { exact: true }), 'its own number');
        await assertNoViolation(page, 'with frames');
        const requests = [];
        page.on('request', (request) => requests.push(request.url()));
        await article.locator('.gap button').click();
        const all = (await floorsOf(article)).map((text) => text.trim());
        assert.deepEqual(all, texts([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
        assert.equal(await article.locator('.fr').count(), 5);
        assert.equal(await isFocused(article.locator('.number').nth(2)), true);
        assert.deepEqual(requests, []);
      });
    }
  });

  test('comment with floors is one stop of the Tab key, and arrow keys reach the floors', async () => {
    const subject = newSubject('topic');
    const chains = [await postChain(subject, 9)];
    chains.push(await postChain(subject, 5, 9));
    await withPage(subject, {}, async (page) => {
      const more = '.list > .item > .more-replies:not(.fold-replies, .folded-row)';
      for (const button of await page.locator(more).all()) await button.click();
      const top = articleOf(page, chains[0].at(-1));
      await top.locator('.bld').waitFor();
      await articleOf(page, chains[1].at(-1)).locator('.bld').waitFor();
      const stops = () =>
        comments(page).evaluateAll((articles) =>
          articles.map((article) => {
            const all = article.querySelectorAll('a, button, [tabindex]');
            return [...all].filter((each) => each.tabIndex >= 0 && each.checkVisibility()).length;
          }),
        );
      assert.deepEqual(await stops(), Array(14).fill(1));
      await top.locator('.act.like').focus();
      await usedPartsRun(page);
      const gap = top.locator('.gap button');
      for (let presses = 0; presses < 20 && !(await isFocused(gap)); presses += 1) {
        await page.keyboard.press('ArrowLeft');
      }
      assert.equal(await isFocused(gap), true, 'arrow keys reach the gap');
      assert.deepEqual(await stops(), Array(14).fill(1));
      await page.keyboard.press('Enter');
      assert.equal(await isFocused(top.locator('.number').nth(2)), true);
      await page.keyboard.press('Enter');
      await top.locator('.floor-actions').waitFor();
      await page.keyboard.press('ArrowRight');
      assert.equal(await isFocused(top.locator('.floor-actions .act').first()), true);
      assert.deepEqual(await stops(), Array(14).fill(1));
    });
  });

  test('list of a building needs no further request, and the gap one', async () => {
    const chain = await postChain(newSubject('topic'), 9);
    const subject = `topic/${chain[0].subject.key}`;
    const { data } = await call('GET', `/v1/comments/${chain[8].id}/replies`);
    assert.deepEqual(data.floors, {});
    const requests = [];
    const prepare = (context) =>
      context.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await withPage(subject, { prepare }, async (page) => {
      const drawn = page.locator('.bld:visible');
      await drawn.first().waitFor();
      const isOfChains = (path) => /ancestors|context/.test(path);
      assert.equal(requests.filter(isOfChains).length, 0);
      const gap = drawn.locator('.gap button');
      if ((await gap.count()) > 0) {
        await gap.first().click();
        await page.waitForTimeout(500);
        assert.ok(requests.filter(isOfChains).length <= 1);
      }
    });
  });

  test('floor is liked, answered and linked in place', async () => {
    const chain = await postChain(newSubject('topic'), 4);
    const subject = `topic/${chain[0].subject.key}`;
    await withPage(
      subject,
      { permissions: ['clipboard-read', 'clipboard-write'] },
      async (page) => {
        const article = articleOf(page, chain[3]);
        const floor = article.locator('.fl').nth(1);
        await floor.locator('.body').click();
        await assertAttribute(floor.locator('.number'), 'aria-expanded', 'true');
        await floor.getByRole('button', { name: 'Like', exact: true }).click();
        await assertVisible(floor.getByRole('button', { name: 'Like 1', pressed: true }), 'liked');
        const liked = await callUntil(
          `/v1/comments/${chain[1].id}`,
          ({ data }) => data.likes === 1,
        );
        assert.equal(liked.data.likes, 1);
        await floor.getByRole('button', { name: 'Copy link', exact: true }).click();
        await assertVisible(floor.getByRole('button', { name: 'Link copied' }), 'it says so');
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        assert.equal(new URL(copied).hash, `#comment-${chain[1].id}`);
        await assertNoViolation(page, 'with an open floor');
        await floor.getByRole('button', { name: 'Writer 2', exact: true }).click();
        await assertVisible(page.getByRole('dialog', { name: 'Writer 2' }), 'the card');
        await page.keyboard.press('Escape');
        await floor.getByRole('button', { name: 'Reply', exact: true }).click();
        await floor.locator('textarea').fill('an answer to a floor');
        await floor.getByLabel('Your name').fill('A reader');
        await floor.locator('.button.primary').click();
        const answer = page.locator('article[data-id]:not([data-id^="sending"])');
        await assertVisible(answer.filter({ hasText: 'an answer to a floor' }), 'the answer');
        const replies = await callUntil(
          `/v1/comments/${chain[1].id}/replies`,
          ({ data }) => data.data.length === 3,
        );
        assert.equal(
          replies.data.data.some((each) => each.parent_id === chain[1].id),
          true,
        );
      },
    );
  });

  test('floor that is taken down is a tombstone in every quote at once', async () => {
    const chain = await postChain(newSubject('topic'), 4);
    const subject = `topic/${chain[0].subject.key}`;
    await withPage(subject, { prepare: replaceEventSource }, async (page) => {
      const article = articleOf(page, chain[3]);
      await assertVisible(article.getByText('text 3.'), 'the floor');
      await sendEvent(page, 'removed', 99, { id: chain[2].id });
      await assertVisible(article.locator('.fl .gone'), 'the tombstone');
      assert.equal(await page.getByText('text 3.').count(), 0);
      assert.equal(await article.locator('.number').nth(2).isDisabled(), true);
    });
  });

  test('other modes open the building at the line that says what is answered', async () => {
    const chain = await postChain(newSubject('video'), 4);
    const subject = `video/${chain[0].subject.key}`;
    await withPage(subject, {}, async (page) => {
      const article = articleOf(page, chain[3]);
      await article.waitFor();
      assert.equal(await page.locator('.bld:visible').count(), 0);
      await article.getByRole('button', { name: 'conversation' }).click();
      await assertVisible(article.locator('.bld'), 'the frames');
      assert.deepEqual(
        (await floorsOf(article)).map((text) => text.trim()),
        ['text 1.', 'text 2.', 'text 3.'],
      );
      await article.getByRole('button', { name: 'conversation' }).click();
      assert.equal(await page.locator('.bld:visible').count(), 0);
      // What it answers is on the page: the link leads there, and the list stays.
      const length = await page.evaluate(() => history.length);
      await article.locator('.answer a').click();
      await assertVisible(page.locator('.item.target'), 'the mark');
      assert.equal(new URL(page.url()).hash, `#comment-${chain[2].id}`);
      assert.equal(await page.evaluate(() => history.length), length);
      assert.equal(await isFocused(articleOf(page, chain[2])), true);
      await page.locator('.item.target').waitFor({ state: 'detached' });
    });
  });

  test('linked comment that is not on the page is in a panel above the list', async () => {
    const chain = await postChain(newSubject('topic'), 8);
    const subject = `topic/${chain[0].subject.key}`;
    const list = await listWithRoots(subject, 1);
    const shown = new Set(list.data[0].top_replies.map(({ id }) => id));
    const hidden = chain.slice(1).find(({ id }) => !shown.has(id));
    const hash = `#comment-${hidden.id}`;
    await withPage(subject, { hash }, async (page) => {
      const panel = page.locator('.linked');
      const article = panel.locator(`article[data-id="${hidden.id}"]`);
      await assertVisible(article, 'the linked comment');
      assert.equal((await floorsOf(article)).length, Math.min(hidden.path.length - 1, 5));
      await assertVisible(page.locator('.list > .item'), 'the list stays');
      await assertNoViolation(page, 'with the panel');
      await panel.getByRole('button', { name: 'Show in the list' }).click();
      assert.equal(await panel.isVisible(), false);
      await assertVisible(page.locator(`.list .target article[data-id="${hidden.id}"]`), 'marked');
    });
    await withPage(subject, { hash }, async (page) => {
      await page.locator('.linked').getByRole('button', { name: 'Close' }).click();
      assert.equal(await page.locator('.linked').isVisible(), false);
      assert.equal(new URL(page.url()).hash, '');
      assert.equal(await page.locator('.list > .item').count(), 1);
    });
  });

  test('answer that arrives to a root that is not loaded is a card on its frames', async () => {
    const subject = newSubject();
    const token = await guestToken('Root writer');
    const root = await postComment(subject, 'the root of another page', token);
    await listWithRoots(subject, 1);
    const empty = (route) => route.fulfill({ json: { ...emptyPage, subject: subjectOf(subject) } });
    const prepare = async (context) => {
      await context.route('**/comments?**', empty);
      await replaceEventSource(context);
    };
    await withPage(subject, { prepare }, async (page) => {
      const answer = await postComment(subject, 'an answer from elsewhere', token, root.id);
      await sendEvent(page, 'comment', 5, { id: answer.id });
      await assertVisible(
        page.locator('[aria-live]').filter({ hasText: 'Show 1 new comment' }),
        'announced',
      );
      await page.getByRole('button', { name: 'Show 1 new comment' }).click();
      const card = page.locator('.item.card');
      await assertVisible(card.locator('.fl').getByText('the root of another page'), 'its frame');
      await assertVisible(card.getByText('an answer from elsewhere'), 'the answer');
    });
  });

  test('long text is folded until it is asked for', async () => {
    const subject = newSubject();
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n}.`).join('\n\n');
    const long = await postComment(subject, lines, await guestToken());
    await postComment(subject, 'short', await guestToken());
    await listWithRoots(subject, 2);
    for (const [viewport, most] of [
      [{ width: 1200, height: 900 }, 12],
      [PHONE, 10],
    ]) {
      await withPage(subject, { viewport }, async (page) => {
        const article = articleOf(page, long);
        const whole = article.getByRole('button', { name: 'Show the whole text' });
        await assertVisible(whole, 'the button');
        assert.equal(await page.locator('.unfold:visible').count(), 1, 'of the long text alone');
        const clip = article.locator('.clip');
        const lineHeight = await clip.evaluate((node) =>
          Number.parseFloat(getComputedStyle(node).lineHeight),
        );
        const { height } = await clip.boundingBox();
        assert.ok(height <= lineHeight * most + 1, `${height} of ${lineHeight}`);
        await whole.click();
        assert.ok((await clip.boundingBox()).height > 2 * height);
        await article.getByRole('button', { name: 'Fold' }).click();
        assert.equal((await clip.boundingBox()).height, height);
      });
    }
  });
});

const emptyPage = {
  data: [],
  page: { next: null, has_more: false, sort: 'hot', epoch: '1' },
};

function subjectOf(subject) {
  const [type, key] = subject.split('/');
  return { type, key, mode: 'tree', state: 'open', roots: 0, comments: 0, pinned: [] };
}

describe('pages without JavaScript', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('pages of a building and of a comment, and the form, have no violation and post', async () => {
    const chain = await postChain(newSubject('topic'), 8);
    const path = subjectPath(`topic/${chain[0].subject.key}`);
    await callUntil(`/t/${path}?lang=en`, ({ text }) => text.includes('class="bld"'));
    for (const colorScheme of ['light', 'dark']) {
      const context = await newContext({ colorScheme, bypassCSP: true });
      const page = await context.newPage();
      for (const address of [
        `/t/${path}`,
        `/t/${path}?lang=zh`,
        `/t/${path}?lang=ar`,
        `/t/${path}?lang=en&comment=${chain[7].id}`,
        `/write/${path}?lang=en&to=${chain[7].id}`,
        `/write/${path}?lang=he&to=${chain[7].id}`,
      ]) {
        await page.goto(BASE + address);
        // What is folded is seen as well.
        await page.evaluate(() =>
          document.querySelector('.languages details')?.setAttribute('open', ''),
        );
        await assertNoViolation(page, address);
      }
      await context.close();
    }
    const context = await newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${BASE}/t/${path}?lang=en&comment=${chain[7].id}`);
    await page.getByRole('link', { name: 'Write a reply' }).click();
    await page.getByLabel('Your name').fill('No script');
    await page.getByLabel('Your comment').fill('posted without a script');
    await page.getByRole('button', { name: 'Post' }).click();
    await assertVisible(page.getByText('posted without a script'), 'the page of the new comment');
    assert.equal(await page.locator('.bld .fl').count(), 8);
    await context.close();
  });
});
