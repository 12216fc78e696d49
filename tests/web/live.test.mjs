// The element and the event stream: new, removed, edited and missed comments. Except for the last test
// the tests send the events themselves, so that they decide when an event arrives.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  call,
  callUntil,
  guestToken,
  listWithRoots,
  newSubject,
  postComment,
} from './support/api.mjs';
import { interceptFromStart, newContext } from './support/browser.mjs';
import { until } from './support/console.mjs';
import { BASE, skipWithout } from './support/environment.mjs';
import {
  hasStream,
  openedStreams,
  refuseStream,
  replaceEventSource,
  restartStream,
  sendEvent,
} from './support/event-source.mjs';
import {
  assertVisible,
  comments,
  commentWith,
  isFocused,
  listIsLoaded,
  newText,
  openPage,
  postOnPage,
  usedPartsRun,
  withPage,
} from './support/page.mjs';

/** After this time the caches have a changed comment or list. */
const CACHE_CATCH_UP_MS = 2_500;
/** Longer than the first wait after a refused stream: 15 s, and at most half of it more. */
const RECONNECT_MS = 23_000;

/** What `EventSource` calls them. */
const STREAM_OPEN = 1;
const STREAM_CLOSED = 2;

/** The wait before the counts are read again, without its jitter. */
const COUNTS_WAIT_MS = 30_000;
const CLOCK_STEP_MS = 5_000;

/** Opens the page with the stream of `event-source.mjs`, which the test controls. */
const withLivePage = (subject, options, steps) =>
  withPage(subject, { prepare: replaceEventSource, ...options }, async (page) => {
    await hasStream(page);
    await steps(page);
  });

/** Hides or shows the page, and waits until the element has closed or opened its stream for that. */
async function setHidden(page, isHidden) {
  await page.evaluate((value) => {
    const get = () => value;
    Object.defineProperty(document, 'hidden', { get, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
  const expected = isHidden ? STREAM_CLOSED : STREAM_OPEN;
  await until(
    async () => (await openedStreams(page)).at(-1).readyState,
    (state) => state === expected,
  );
}

/** Counts from now on how often the page asks for this path. */
const countReads = (page, path) =>
  page.evaluate((counted) => {
    const send = window.fetch;
    window.reads = { begun: 0, ended: 0 };
    window.fetch = async (url, init) => {
      if (!String(url).endsWith(counted)) return send(url, init);
      window.reads.begun += 1;
      try {
        const answer = await send(url, init);
        await answer.clone().text();
        return answer;
      } finally {
        window.reads.ended += 1;
      }
    };
  }, path);

/** The counted reads, when each that has begun is answered: the page's clock does not wait for that. */
const endedReads = (page) =>
  until(
    () => page.evaluate(() => window.reads),
    ({ begun, ended }) => begun === ended,
  );

/** A subject with one listed comment, and the token of its author. */
async function subjectWithComment(content) {
  const subject = newSubject();
  const token = await guestToken();
  const comment = await postComment(subject, content, token);
  const list = await listWithRoots(subject, 1);
  return { subject, token, comment, version: Number(list.page.epoch) };
}

/** The data of the event `comment`. */
const eventData = ({ id, root_id, parent_id }) => ({ id, root_id, parent_id });

describe('live updates', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('new comment waits behind a button, counts change, removed comment is a tombstone', async () => {
    const { subject, token, comment: first, version } = await subjectWithComment('Here before');
    await withLivePage(subject, {}, async (page) => {
      const path = `/v1/subjects/${subject}/events`;
      assert.deepEqual(await openedStreams(page), [
        { path, after: String(version), readyState: 1 },
      ]);
      const second = await postComment(subject, 'Arrives', token);
      const reply = await postComment(subject, 'Arrives below', token, first.id);
      await sendEvent(page, 'comment', version + 1, eventData(second));
      await sendEvent(page, 'comment', version + 2, eventData(reply));
      await sendEvent(page, 'counts', version + 2, { roots: 2, comments: 3 });
      await assertVisible(page.locator('h2', { hasText: '3 comments' }), 'the count');
      assert.equal(await comments(page).count(), 1, 'nothing has moved');
      await page.getByRole('button', { name: 'Show 2 new comments' }).click();
      const replies = page.locator('.replies article');
      await assertVisible(replies.filter({ hasText: 'Arrives below' }), 'the reply in its place');
      assert.equal(await comments(page).count(), 3);
      await sendEvent(page, 'removed', version + 3, { id: second.id });
      const removed = page.locator(`[data-id="${second.id}"]`);
      await assertVisible(removed.getByText('This comment was deleted'), 'the tombstone');
      await restartStream(page);
      assert.deepEqual(await openedStreams(page), [
        { path, after: String(version), readyState: 2 },
        { path, after: String(version + 3), readyState: 1 },
      ]);
    });
  });

  for (const type of ['article', 'video', 'topic', 'post']) {
    test(`removed comment of ${type} is one line without a picture, which keeps its answers and its link`, async () => {
      const subject = newSubject(type);
      const token = await guestToken();
      const removed = await postComment(subject, 'Is removed', token);
      await postComment(subject, 'Stays', token, removed.id);
      const { page: listed } = await listWithRoots(subject, 1);
      await withLivePage(subject, {}, async (page) => {
        const answer = commentWith(page, 'Stays');
        const article = page.locator(`article[data-id="${removed.id}"]`);
        await assertVisible(answer, 'the answer');
        await article.locator('.act.like').focus();
        await usedPartsRun(page);
        await sendEvent(page, 'removed', Number(listed.epoch) + 1, { id: removed.id });
        const sentence = article.getByText('This comment was deleted');
        const time = article.locator('.when');
        await assertVisible(sentence, 'the sentence');
        for (const part of ['.avatar', '.author', '.actions .act', '.answer']) {
          assert.equal(await article.locator(part).first().isVisible(), false, part);
        }
        const [line, link] = [await sentence.boundingBox(), await time.boundingBox()];
        const middleOf = ({ y, height }) => y + height / 2;
        assert.ok(Math.abs(middleOf(line) - middleOf(link)) < 4, 'both are in one line');
        assert.ok((await article.boundingBox()).height < 2.5 * line.height, 'nothing is below it');
        const colours = [sentence, time].map((each) =>
          each.evaluate((node) => getComputedStyle(node).color),
        );
        assert.equal(await colours[0], await colours[1], 'it is muted');
        assert.equal(await time.getAttribute('tabindex'), '0', 'the Tab key comes to it');
        await assertVisible(answer, 'the answer is where it was');
        const fold = article.getByRole('button', { name: 'Fold the replies' });
        if (type === 'post') return;
        const button = await fold.boundingBox();
        assert.ok(Math.abs(middleOf(button) - middleOf(line)) < 4, 'in the place of the picture');
        assert.ok(button.x + button.width <= line.x);
      });
    });
  }

  test('button for new comments counts the replies to the reader, and says so politely', async () => {
    const subject = newSubject();
    const token = await guestToken('Another');
    await withLivePage(subject, {}, async (page) => {
      const own = await postOnPage(page, newText('Mine'));
      const id = await own.getAttribute('data-id');
      const others = await postComment(subject, 'A root', token);
      const reply = await postComment(subject, 'A reply', token, id);
      const { y } = await own.boundingBox();
      await sendEvent(page, 'comment', 98, eventData(others));
      await sendEvent(page, 'comment', 99, eventData(reply));
      const sentence = 'Show 2 new comments · 1 reply to you';
      const button = page.getByRole('button', { name: sentence });
      await assertVisible(button, 'the button');
      await assertVisible(
        page.locator('[aria-live="polite"]').filter({ hasText: sentence }),
        'announced',
      );
      assert.equal((await own.boundingBox()).y, y, 'nothing has moved');
      const bell = page.getByRole('button', { name: '1 unread notification' });
      await assertVisible(bell, 'the bell has the reply before it would ask by itself');
      await button.click();
      await assertVisible(own.page().locator('.replies').getByText('A reply'), 'the reply');
      assert.equal(await page.locator('.fresh:visible').count(), 0);
    });
  });

  test('edited comment is shown at once', async () => {
    const { subject, token, comment } = await subjectWithComment('Before');
    await withLivePage(subject, {}, async (page) => {
      await assertVisible(commentWith(page, 'Before'), 'the text');
      await call('PATCH', `/v1/comments/${comment.id}`, { body: { content: 'After' }, token });
      await sleep(CACHE_CATCH_UP_MS);
      await sendEvent(page, 'comment', 9, eventData(comment));
      await assertVisible(commentWith(page, 'After'), 'the new text');
      assert.equal(await page.locator('.fresh:visible').count(), 0, 'it is no new comment');
    });
  });

  test('edit is fetched again while a cache has the old text', async () => {
    const { subject, token, comment } = await subjectWithComment('Before');
    const path = `/v1/comments/${comment.id}`;
    const prepare = async (context) => {
      await interceptFromStart(context, `**${path}`);
      await replaceEventSource(context);
    };
    await withLivePage(subject, { prepare }, async (page) => {
      await assertVisible(commentWith(page, 'Before'), 'the text');
      const { data: old } = await call('GET', path);
      await call('PATCH', path, { body: { content: 'After' }, token });
      let requests = 0;
      await page.route(`**${path}`, (route) => {
        requests += 1;
        return requests === 1 ? route.fulfill({ json: old }) : route.continue();
      });
      await sendEvent(page, 'comment', 9, eventData(comment));
      await assertVisible(commentWith(page, 'After'), 'the new text');
      assert.equal(requests, 2);
    });
  });

  test('reset is applied although its stream ends', async () => {
    const { subject, token } = await subjectWithComment('One');
    await withLivePage(subject, {}, async (page) => {
      await postComment(subject, 'Two', token);
      await sendEvent(page, 'reset', 77, {});
      await restartStream(page);
      const streams = await openedStreams(page);
      assert.equal(streams.at(-1).after, '77', 'the next stream starts after the reset');
      await assertVisible(commentWith(page, 'Two'), 'the list is loaded again');
    });
  });

  test('reset loads the list again, but asks first while the reader writes', async () => {
    const { subject, token } = await subjectWithComment('One');
    await withLivePage(subject, {}, async (page) => {
      await postComment(subject, 'Two', token);
      await sendEvent(page, 'reset', 77, {});
      await assertVisible(commentWith(page, 'Two'), 'the list is loaded again');
      await comments(page).first().getByRole('button', { name: /Reply/ }).click();
      await page.keyboard.type('half a thought');
      await postComment(subject, 'Three', token);
      await sendEvent(page, 'reset', 99, {});
      const button = page.getByRole('button', { name: /have changed/ });
      await assertVisible(button, 'the reader is asked');
      assert.equal(await comments(page).filter({ hasText: 'Three' }).count(), 0);
      await sleep(CACHE_CATCH_UP_MS);
      await button.click();
      await assertVisible(commentWith(page, 'Three'), 'after the press');
      assert.equal((await openedStreams(page)).length, 1, 'the stream goes on');
    });
  });

  test('counts of others move, less and less often, and not on a hidden page', async () => {
    const { subject, comment } = await subjectWithComment(
      'Like me, [please](https://example.org/)',
    );
    const firstPage = `/v1/subjects/${subject}/comments?sort=hot&limit=20&view=compact`;
    await withLivePage(subject, {}, async (page) => {
      // From then on the clock is the test's, and no wait is longer or shorter than another.
      await page.clock.install();
      await page.evaluate(() => {
        Math.random = () => 0.5;
      });
      await countReads(page, firstPage);
      await setHidden(page, true);
      await setHidden(page, false);
      /** Moves the clock until the page is read once more; how far, in milliseconds. */
      const timeToRead = async () => {
        const before = (await endedReads(page)).begun;
        let passedMs = 0;
        do {
          assert.ok(passedMs < 20 * COUNTS_WAIT_MS, 'the first page is not read again');
          await page.clock.runFor(CLOCK_STEP_MS);
          passedMs += CLOCK_STEP_MS;
        } while ((await endedReads(page)).begun === before);
        return passedMs;
      };
      const react = async (kind) => {
        const { status, text } = await call('PUT', `/v1/comments/${comment.id}/${kind}`, {
          token: await guestToken(),
        });
        assert.equal(status, 200, text);
        await callUntil(firstPage, ({ data }) => data.data[0][`${kind}s`] === 1);
      };
      await react('like');
      await react('dislike');
      const link = commentWith(page, 'Like me').getByRole('link', { name: 'please' });
      await link.focus();
      await link.evaluate((node) => getSelection().selectAllChildren(node));
      assert.ok((await timeToRead()) >= COUNTS_WAIT_MS);
      for (const kind of ['like', 'dislike']) {
        const button = commentWith(page, 'Like me')
          .locator(`.act.${kind}`)
          .filter({ hasText: '1' });
        await assertVisible(button, `the ${kind} of another reader`);
      }
      assert.equal(await isFocused(link), true, 'the text is the one that the reader is in');
      assert.equal(await page.evaluate(() => getSelection().toString()), 'please');
      assert.ok((await timeToRead()) >= COUNTS_WAIT_MS);
      assert.ok((await timeToRead()) >= 2 * COUNTS_WAIT_MS, 'nothing had changed');
      await setHidden(page, true);
      const before = await endedReads(page);
      await page.clock.runFor(20 * COUNTS_WAIT_MS);
      assert.deepEqual(await endedReads(page), before);
    });
  });

  test('refused stream is opened again later, and a hidden page has no stream', async () => {
    const readyStates = async (page) =>
      (await openedStreams(page)).map((stream) => stream.readyState);
    await withLivePage(newSubject(), {}, async (page) => {
      await page.clock.install();
      await refuseStream(page);
      assert.deepEqual(await readyStates(page), [2]);
      await page.clock.runFor(RECONNECT_MS);
      assert.deepEqual(await readyStates(page), [2, 1]);
      await setHidden(page, true);
      assert.deepEqual(await readyStates(page), [2, 2]);
      await setHidden(page, false);
      assert.equal((await readyStates(page)).at(-1), 1);
    });
  });

  for (const [reducedMotion, isAnimated] of [
    ['reduce', false],
    ['no-preference', true],
  ]) {
    test(`new comment is ${isAnimated ? '' : 'not '}animated (${reducedMotion})`, async () => {
      const subject = newSubject();
      const token = await guestToken();
      await withLivePage(subject, { reducedMotion }, async (page) => {
        const comment = await postComment(subject, 'Arrives', token);
        await sendEvent(page, 'comment', 5, eventData(comment));
        await page.getByRole('button', { name: 'Show 1 new comment' }).click();
        await assertVisible(commentWith(page, 'Arrives'), 'it is there');
        const article = page.locator('.new > article');
        const name = await article.evaluate((node) => getComputedStyle(node).animationName);
        assert.equal(name !== 'none', isAnimated);
      });
    });
  }

  test("event of the server reaches another reader's page", async () => {
    const subject = newSubject();
    const context = await newContext();
    try {
      const page = await openPage(context, subject);
      await listIsLoaded(page);
      const token = await guestToken('Another');
      const comment = await postComment(subject, 'From elsewhere', token);
      await page.getByRole('button', { name: 'Show 1 new comment' }).click();
      await assertVisible(commentWith(page, 'From elsewhere'), 'the comment');
      await call('DELETE', `/v1/comments/${comment.id}`, { token });
      await assertVisible(page.getByText('This comment was deleted'), 'its removal');
    } finally {
      await context.close();
    }
  });

  test('answer that the server sends is counted for whom it answers, and is at the bell at once', async () => {
    const subject = newSubject();
    await withPage(subject, {}, async (page) => {
      const own = await postOnPage(page, newText('A question'));
      const parent = await own.evaluate((node) => node.closest('[data-id]').dataset.id);
      await postComment(subject, 'An answer', await guestToken('Another'), parent);
      const sentence = 'Show 1 new comment · 1 reply to you';
      await assertVisible(page.getByRole('button', { name: sentence }), 'the button');
      await assertVisible(page.getByRole('button', { name: '1 unread notification' }), 'the bell');
    });
  });
});
