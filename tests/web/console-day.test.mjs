// A day of a moderator: what a word held, what three readers reported and a guest's first comment are decided one by one
// and together, taken back, looked up, pinned; two moderators work at once.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { call, guestToken, memberToken, newSubject, tryPostComment } from './support/api.mjs';
import {
  admin,
  entry,
  heldComment,
  holdWord,
  lastAction,
  newMember,
  openEntry,
  until,
  withConsole,
} from './support/console.mjs';
import { BASE, NARROW, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

/** E2E_SHOTS names a folder for pictures of each step. */
async function shoot(page, name) {
  if (!process.env.E2E_SHOTS) return;
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(process.env.E2E_SHOTS, `day-${name}-${colorScheme}.png`) });
  }
}

/** The first comment of a guest, which a rule holds. */
async function firstOfGuest() {
  const text = newText('my first one');
  await admin('PATCH', '/v1/admin/settings', { rules: { hold_first_guest_comment: true } });
  try {
    const { status, data } = await tryPostComment(newSubject(), text, await guestToken('Gwen'));
    assert.equal(status, 202);
    return { id: data.id, text };
  } finally {
    await admin('PATCH', '/v1/admin/settings', { rules: { hold_first_guest_comment: null } });
  }
}

/** A comment that three readers have reported, which takes it out of the lists. */
async function reportedByThree() {
  const text = newText('reported by three');
  const { data } = await tryPostComment(newSubject(), text, newMember('Loud').token);
  for (const sub of ['931', '932', '933']) {
    const body = { reason: 'abuse', note: 'again' };
    const token = memberToken(sub, `Reader ${sub}`);
    const { status } = await call('POST', `/v1/comments/${data.id}/reports`, { body, token });
    assert.equal(status, 202);
  }
  return { id: data.id, text };
}

const backToList = async (page) => {
  const button = page.getByRole('button', { name: 'Back to the list' });
  if (await button.isVisible()) await button.click();
};

async function openFromList(page, text, reason) {
  await backToList(page);
  await openEntry(page, text);
  await page.locator('.open .tag').getByText(reason).waitFor();
}

const decide = (page, name) =>
  page
    .getByRole('toolbar')
    .getByRole('button', { name: new RegExp(`^${name}`) })
    .click();

/** Waits until these comments are in the list, or are not. */
async function areIn(page, comments, isExpected) {
  for (const { text } of comments) {
    await entry(page, text).waitFor({ state: isExpected ? 'attached' : 'detached' });
  }
}

async function assertLast(comments, expected) {
  for (const { id } of comments) {
    await until(
      () => lastAction(id),
      (action) => action === expected,
    );
  }
}

const currentText = (page) => page.locator('.entries [aria-current="true"] .start').textContent();

describe("console: a moderator's day", {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  for (const [name, options] of [
    ['desktop', {}],
    ['phone', { viewport: NARROW, hasTouch: true }],
  ]) {
    test(`what waits has its reasons, and is decided together and taken back (${name})`, async () => {
      await holdWord();
      const both = [await heldComment(newSubject(), 'by a word'), await firstOfGuest()];
      await withConsole(options, async (page) => {
        await openFromList(page, both[0].text, 'word: console');
        await shoot(page, `${name}-word`);
        await openFromList(page, both[1].text, 'first comment');
        await backToList(page);
        for (const { text } of both) await entry(page, text).getByRole('checkbox').check();
        await decide(page, 'Approve × 2');
        await areIn(page, both, false);
        await assertLast(both, 'approve');
        await shoot(page, `${name}-bulk`);
        await page.locator('.offer').getByRole('button', { name: /^Undo/ }).click();
        await page.getByText('Undone.').waitFor();
        await areIn(page, both, true);
        await assertLast(both, 'undo');
      });
    });

    test(`what three readers reported is read with their words, and rejected (${name})`, async () => {
      const reported = await reportedByThree();
      await withConsole({ ...options, section: 'reported' }, async (page) => {
        await openFromList(page, reported.text, '3 × abuse');
        await page.locator('.open summary').filter({ hasText: 'Reports' }).click();
        await page.locator('.open').getByText('Reader 933').waitFor();
        await shoot(page, `${name}-reports`);
        await decide(page, 'Reject');
        await areIn(page, [reported], false);
        await assertLast([reported], 'reject');
      });
    });
  }

  test('an old comment is found in Chinese, with its history, and pinned', async () => {
    const writer = newMember('Writer of old');
    const mark = newText('').trim();
    const { data } = await tryPostComment(newSubject(), `昨天下雨 ${mark}`, writer.token);
    const body = { content: `今天天气真好 ${mark}` };
    await call('PATCH', `/v1/comments/${data.id}`, { body, token: writer.token });
    await withConsole({ section: 'comments' }, async (page) => {
      await until(
        () =>
          admin('GET', `/v1/admin/comments?q=${encodeURIComponent('天气')}&member=${writer.id}`),
        (found) => found.data.length === 1,
      );
      await page.getByRole('searchbox').fill('天气');
      await page.getByText('More filters').click();
      await page.getByLabel(/^Author/).fill(writer.id);
      await page.getByRole('button', { name: 'Search' }).click();
      const card = page.locator(`.comments [data-id="${data.id}"]`);
      await card.locator('mark').filter({ hasText: '天气' }).waitFor();
      await card.getByText('Earlier texts').click();
      await card.getByText(`昨天下雨 ${mark}`).waitFor();
      await shoot(page, 'history');
      await page.keyboard.press('p');
      await card.getByText('pinned', { exact: true }).waitFor();
      assert.equal(await lastAction(data.id), 'pin');
      await page.keyboard.press('z');
      await card.getByText('pinned', { exact: true }).waitFor({ state: 'detached' });
      assert.equal(await lastAction(data.id), 'unpin');
    });
  });

  test('two moderators at once have different comments open', async () => {
    await holdWord();
    for (const what of ['for one', 'for the other']) await heldComment(newSubject(), what);
    await withConsole({}, async (one) => {
      await one.locator('.now').waitFor();
      const token = memberToken('903', 'Zoe', 'moderator');
      await withConsole({ token }, async (other) => {
        await other.locator('.now').waitFor();
        assert.notEqual(await currentText(other), await currentText(one));
        assert.equal(await other.getByText('Mo has this one.').count(), 0);
      });
    });
  });
});
