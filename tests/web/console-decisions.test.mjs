// The moderators' page: decisions by keys and in bulk, shown before they are answered, and taken back.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, newSubject } from './support/api.mjs';
import {
  admin,
  areIn,
  assertLast,
  entry,
  heldComment,
  holdWord,
  lastAction,
  newMember,
  openEntry,
  until,
  withConsole,
} from './support/console.mjs';
import { BASE, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

/** Longer than a lease takes. */
const SLOW_UNDO_MS = 800;

describe('console: decisions', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('a key decides, Z takes it back, shift marks several', async () => {
    await holdWord();
    const subject = newSubject();
    const comments = [];
    for (const what of ['one', 'two', 'three']) comments.push(await heldComment(subject, what));
    await withConsole({}, async (page) => {
      await openEntry(page, comments[0].text);
      await page.keyboard.press('f');
      await page.locator('.offer').getByText('Feature').waitFor();
      assert.equal(await lastAction(comments[0].id), 'feature');
      assert.equal(await entry(page, comments[0].text).count(), 1, 'it still waits');
      await page.keyboard.press('r');
      await entry(page, comments[0].text).waitFor({ state: 'detached' });
      await page.locator('.offer').getByText('Reject').waitFor();
      assert.equal(await lastAction(comments[0].id), 'reject');
      // Until the server has undone it, no lease is given for it.
      await page.route('**/v1/admin/audit/*/undo', async (route) => {
        await sleep(SLOW_UNDO_MS);
        await route.fallback();
      });
      await page.keyboard.press('z');
      await page.locator('.now').filter({ hasText: comments[0].text }).waitFor();
      await page.getByText('Undone.').waitFor();
      assert.equal(await lastAction(comments[0].id), 'undo');
      assert.equal(await page.getByText('Another moderator').count(), 0, 'it is their own again');

      for (const { text } of comments.slice(1))
        await entry(page, text).getByRole('checkbox').check();
      await page.keyboard.press('a');
      for (const { text } of comments.slice(1)) {
        await entry(page, text).waitFor({ state: 'detached' });
      }
      await page.locator('.offer').getByText('Approve × 2').waitFor();
      for (const { id } of comments.slice(1)) assert.equal(await lastAction(id), 'approve');
    });
  });

  test('a comment that has changed is neither decided nor undone, and the others are', async () => {
    await holdWord();
    const subject = newSubject();
    const writer = newMember('Changing');
    const comments = [];
    for (const what of ['one', 'two', 'three']) {
      comments.push(await heldComment(subject, what, writer.token));
    }
    const [changed, ...others] = comments;
    await withConsole({}, async (page) => {
      const approveAll = async () => {
        for (const { text } of comments) await entry(page, text).getByRole('checkbox').check();
        await page.keyboard.press('a');
      };
      await openEntry(page, changed.text);
      await approveAll();
      await page.locator('.offer').getByText('Approve × 3').waitFor();
      await until(
        () =>
          call('PATCH', `/v1/comments/${changed.id}`, {
            body: { content: newText('Other') },
            ...writer,
          }),
        ({ status }) => status === 200,
      );
      await page.keyboard.press('z');
      await page.getByText('Undone, but for one comment that has been changed since.').waitFor();
      // The queue is read anew.
      await entry(page, changed.text).waitFor({ state: 'detached' });
      for (const { text } of others) await entry(page, text).waitFor();

      // Another moderator decides about what is open here.
      const [first, second] = others;
      await openEntry(page, second.text);
      const leased = page.waitForResponse(
        (answer) =>
          answer.url().endsWith('/v1/admin/queue/lease') &&
          answer.request().postData().includes(first.id),
      );
      await openEntry(page, first.text);
      await leased;
      await admin('POST', `/v1/admin/comments/${first.id}/decision`, { action: 'reject' });
      await page.keyboard.press('a');
      await page.getByText('One comment has changed since it was shown.').waitFor();
      await entry(page, second.text).waitFor();
      await entry(page, first.text).waitFor({ state: 'detached' });
      assert.equal(await lastAction(first.id), 'reject');
    });
  });

  test('a decision is shown before the server has answered, and is taken away again where that fails', async () => {
    await holdWord();
    const subject = newSubject();
    const comments = [];
    for (const what of ['first', 'second']) comments.push(await heldComment(subject, what));
    const [{ text }, { text: nextText }] = comments;
    const isOpen = (page, which) => page.locator('.now').filter({ hasText: which }).waitFor();
    await withConsole({}, async (page) => {
      const waiting = async () =>
        Number.parseInt(await page.locator('.queue .bar').textContent(), 10);
      await openEntry(page, text);
      await entry(page, nextText).waitFor();
      const before = await waiting();
      const { promise: released, resolve: release } = Promise.withResolvers();
      let isAnswered = false;
      await page.route('**/v1/admin/decisions', async (route) => {
        await released;
        isAnswered = true;
        await route.abort();
      });
      const asked = page.waitForRequest('**/v1/admin/decisions');
      await page.keyboard.press('a');
      await asked;
      await entry(page, text).waitFor({ state: 'detached' });
      await isOpen(page, nextText);
      assert.equal(await waiting(), before - 1);
      assert.equal(await page.locator('.said').textContent(), 'Approve');
      assert.equal(await page.locator('.offer').count(), 0, 'there is nothing to undo yet');
      assert.equal(isAnswered, false);
      release();
      await page.getByText('That did not work:').waitFor();
      await isOpen(page, text);
      await entry(page, text).waitFor();
      assert.equal(await waiting(), before);
      assert.equal(await page.locator('.offer').count(), 0);
    });
    await withConsole({ section: `comments/${comments[1].id}` }, async (page) => {
      const card = page.locator('.comments .card');
      const isShown = (state) => card.getByText(state, { exact: true }).waitFor();
      await isShown('held');
      const { promise: released, resolve: release } = Promise.withResolvers();
      await page.route('**/v1/admin/comments/*/decision', async (route) => {
        await released;
        await route.abort();
      });
      await page.keyboard.press('a');
      await isShown('published');
      release();
      await isShown('held');
      await page.getByText('That did not work:').waitFor();
    });
    for (const { id } of comments) assert.equal(await lastAction(id), undefined);
  });

  test('shift and J mark and go on, A decides what is marked, Z takes it back for ten seconds', async () => {
    await holdWord();
    const subject = newSubject();
    const comments = [];
    for (const what of ['alpha', 'beta', 'gamma']) comments.push(await heldComment(subject, what));
    const marked = comments.slice(0, 2);
    const prepare = (page) => page.clock.install();
    await withConsole({ prepare }, async (page) => {
      await openEntry(page, comments[0].text);
      await areIn(page, comments, true);
      for (const { text } of comments.slice(1)) {
        await page.keyboard.press('Shift+J');
        await page.locator('.now').filter({ hasText: text }).waitFor();
      }
      for (const { text } of marked) {
        assert.ok(await entry(page, text).getByRole('checkbox').isChecked());
      }
      const offer = page.locator('.offer').getByText('Approve × 2');
      const decideMarked = async () => {
        await page.keyboard.press('a');
        await offer.waitFor();
        await areIn(page, marked, false);
        await assertLast(marked, 'approve');
        await page.locator('.now').filter({ hasText: comments[2].text }).waitFor();
      };
      await decideMarked();
      assert.equal(await lastAction(comments[2].id), undefined, 'what is open is not marked');
      await page.clock.fastForward(5_000);
      assert.ok(await offer.isVisible());
      await page.keyboard.press('z');
      await areIn(page, marked, true);
      await page.getByText('Undone.').waitFor();
      await assertLast(marked, 'undo');

      for (const { text } of marked) await entry(page, text).getByRole('checkbox').check();
      await decideMarked();
      await page.clock.fastForward(10_200);
      await page.locator('.offer').waitFor({ state: 'detached' });
      const undone = [];
      page.on('request', (request) => request.url().endsWith('/undo') && undone.push(request));
      await page.keyboard.press('z');
      // A key that is answered after it shows that it did nothing.
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).waitFor();
      await page.waitForLoadState('networkidle');
      assert.deepEqual(undone, []);
      await assertLast(marked, 'approve');
    });
  });

  test('what the server refuses comes back, and nothing is offered to be undone', async () => {
    await holdWord();
    const { id, text } = await heldComment(newSubject(), 'refused');
    await withConsole({}, async (page) => {
      await openEntry(page, text);
      await page.route('**/v1/admin/decisions', (route) =>
        route.fulfill({ json: { data: [{ id, status: 409, code: 'version_conflict' }] } }),
      );
      await page.keyboard.press('a');
      await page.getByText('One comment has changed since it was shown.').waitFor();
      await page.locator('.now').filter({ hasText: text }).waitFor();
      assert.equal(await page.locator('.offer').count(), 0);
      await page.unroute('**/v1/admin/decisions');
      await page.route('**/v1/admin/decisions', (route) => route.abort());
      await page.keyboard.press('a');
      await page.getByText('That did not work:').waitFor();
      await page.locator('.now').filter({ hasText: text }).waitFor();
      assert.equal(await page.locator('.offer').count(), 0);
    });
  });
});
