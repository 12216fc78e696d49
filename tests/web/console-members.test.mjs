// The moderators' page: members, what moderators say of them, their erasure.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, memberToken, newSubject, tryPostComment } from './support/api.mjs';
import {
  ADMIN,
  admin,
  heldComment,
  holdWord,
  newMember,
  openEntry,
  until,
  withConsole,
} from './support/console.mjs';
import { BASE, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

const DAY_MS = 86_400_000;

const standing = (id) => admin('GET', `/v1/admin/members/${id}`);

/** A member who has written a comment, which is stored. */
async function writer(name) {
  const member = newMember(name);
  const text = newText('written');
  const { status, data } = await tryPostComment(newSubject(), text, member.token);
  assert.equal(status, 201);
  await until(
    () => standing(member.id),
    ({ counts }) => counts.published === 1,
  );
  return { ...member, comment: data.id, text };
}

describe('console: members', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('a member is found by the beginning of the name and by id, with what they wrote', async () => {
    const ann = await writer('Annabel');
    await withConsole({ section: 'members' }, async (page) => {
      const search = page.getByRole('searchbox');
      for (const wanted of [ann.name.toLowerCase().slice(0, -1), ann.id]) {
        await search.fill(wanted);
        await page.waitForURL(/members\?q=/);
        await page.locator('.people').getByText(ann.name).waitFor();
        await until(
          () => page.locator('.people li').count(),
          (count) => count === 1,
        );
      }
      await page.getByRole('navigation').getByRole('link', { name: 'Members' }).click();
      await page.waitForURL(/members$/);
      // All members again.
      await until(
        () => search.inputValue(),
        (typed) => typed === '',
      );
      await search.fill(ann.name);
      await page.waitForURL(/members\?q=/);
      await page.locator('.people').getByText(ann.name).click();
      await page.getByRole('heading', { name: ann.name }).waitFor();
      await page.locator('.comments').getByText(ann.text).waitFor();
      const published = page.locator('.counts div').filter({ hasText: 'published' });
      assert.equal(await published.locator('dd').textContent(), '1');
      await page.reload();
      await page.getByRole('heading', { name: ann.name }).waitFor();
    });
  });

  test('M mutes the author of the comment in focus for a chosen time, Z takes it back', async () => {
    await holdWord();
    const loud = newMember('Loud');
    const { text } = await heldComment(newSubject(), 'loud', loud.token);
    await withConsole({}, async (page) => {
      await openEntry(page, text);
      await page.keyboard.press('m');
      await page.getByRole('dialog', { name: `Mute ${loud.name}` }).waitFor();
      await page.keyboard.press('3');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.locator('.about').getByText('muted until').waitFor();
      const { muted_until } = await standing(loud.id);
      assert.ok(Math.abs(muted_until - Date.now() - 7 * DAY_MS) < 60_000, 'for a week');
      const refused = await tryPostComment(newSubject(), newText('again'), loud.token);
      assert.equal(refused.data?.code, 'muted');
      await page.locator('.entries li').filter({ hasText: text }).waitFor();

      await page.keyboard.press('z');
      await page.getByText('Undone.').waitFor();
      await page.locator('.about').getByText('muted until').waitFor({ state: 'detached' });
      assert.equal((await standing(loud.id)).muted_until, null);
    });
  });

  test('a mute for ever is shown, and ends by a button', async () => {
    const bob = await writer('Bob');
    await withConsole({ section: `members/${bob.id}` }, async (page) => {
      await page.getByRole('button', { name: 'For ever' }).click();
      await page.getByText('muted for ever').waitFor();
      await page.getByRole('link', { name: 'Members' }).first().click();
      await page.getByRole('link', { name: 'Muted now' }).click();
      await page.getByRole('heading', { name: 'Muted now' }).waitFor();
      await page.locator('.people').getByText(`${bob.name}`).click();
      await page.getByRole('button', { name: 'Unmute' }).click();
      await page.getByText('muted for ever').waitFor({ state: 'detached' });
      assert.equal((await standing(bob.id)).muted_until, null);
      await page.goBack();
      await page.getByRole('heading', { name: 'Muted now' }).waitFor();
      await page.locator('.people').getByText(bob.name).waitFor({ state: 'detached' });
    });
  });

  test('level and note are saved and taken back; a moderator gives no role', async () => {
    const cy = await writer('Cy');
    await withConsole({ section: `members/${cy.id}` }, async (page) => {
      assert.ok(await page.getByLabel(/^Role/).isDisabled());
      assert.equal(await page.getByText('Erase this member').count(), 0);
      await page.getByLabel('Level').fill('7');
      await page.getByLabel(/^Note/).fill('Knows a lot.');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('.tags').getByText('level 7').waitFor();
      const said = await standing(cy.id);
      assert.deepEqual([said.level, said.note], [7, 'Knows a lot.']);
      await page.getByRole('button', { name: /^Undo/ }).click();
      await page.locator('.tags').getByText('level 7').waitFor({ state: 'detached' });
      const { level, note } = await standing(cy.id);
      assert.deepEqual([level, note], [null, null]);
    });
  });

  test('who is given a role signs in, though the token says nothing of it', async () => {
    const dee = await writer('Dee');
    await withConsole({ token: ADMIN(), section: `members/${dee.id}` }, async (page) => {
      await page.getByLabel(/^Role/).selectOption('moderator');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('.tags').getByText('moderator').waitFor();
    });
    await withConsole({ token: dee.token }, async (page) => {
      await page.getByRole('banner').getByText('moderator').waitFor();
    });
  });

  test('older tokens are refused, and accepted again', async () => {
    const eve = await writer('Eve');
    const posts = () => tryPostComment(newSubject(), newText('by an old token'), eve.token);
    await withConsole({ section: `members/${eve.id}` }, async (page) => {
      await page.getByRole('button', { name: 'Refuse tokens issued before now' }).click();
      await page.getByRole('button', { name: 'Accept them again' }).waitFor();
      assert.equal((await posts()).status, 401);
      await page.getByRole('button', { name: 'Accept them again' }).click();
      await page.getByText('Older tokens are accepted').first().waitFor();
      await until(posts, ({ status }) => status === 201);
    });
  });

  test('a comment of a member is decided by a key, as its state allows, and taken back', async () => {
    const fay = await writer('Fay');
    await withConsole({ section: `members/${fay.id}` }, async (page) => {
      const card = page.locator('.comments .card').filter({ hasText: fay.text });
      const state = (name) => card.locator('.tag').getByText(name, { exact: true }).waitFor();
      await state('published');
      await page.keyboard.press('h');
      await state('hidden');
      await page.getByRole('button', { name: /^Undo/ }).waitFor();
      assert.equal((await standing(fay.id)).last[0].state, 'hidden');
      await page.keyboard.press('z');
      await page.getByText('Undone.').waitFor();
      await state('published');
      await page.keyboard.press('d');
      await state('deleted');
      await page.getByRole('button', { name: /^Restore/ }).click();
      await state('published');
      await page.getByRole('button', { name: /^Undo/ }).waitFor();
      await until(
        () => standing(fay.id),
        ({ last }) => last[0].state === 'published',
      );
    });
  });

  test('an admin erases a member after typing the id', async () => {
    const gus = await writer('Gus');
    await withConsole({ token: ADMIN(), section: `members/${gus.id}` }, async (page) => {
      await page.getByText('Erase this member').click();
      const erase = page.getByRole('button', { name: 'Erase', exact: true });
      await page.getByLabel(`Type ${gus.id} to confirm`).fill(gus.id.slice(1));
      assert.ok(await erase.isDisabled());
      await page.getByLabel(`Type ${gus.id} to confirm`).fill(gus.id);
      await erase.click();
      await page.waitForURL(/#\/members$/);
    });
    const gone = await call('GET', `/v1/admin/members/${gus.id}`, { token: ADMIN() });
    assert.equal(gone.status, 404);
    await withConsole({ section: `members/${gus.id}` }, async (page) => {
      await page.getByRole('alert').waitFor();
    });
  });

  test('the log of one member is a list of its own', async () => {
    const hal = await writer('Hal');
    const token = memberToken('903', 'Log keeper', 'moderator');
    const body = { note: newText('logged') };
    const path = `/v1/admin/members/${hal.id}`;
    assert.equal((await call('PUT', path, { body, token })).status, 200);
    await withConsole({ section: 'audit?actor=903' }, async (page) => {
      const row = page.getByRole('row').filter({ hasText: hal.id });
      await row.getByText('write a note').waitFor();
      const actors = await page.locator('tbody td:nth-child(2)').allTextContents();
      assert.deepEqual([...new Set(actors)], ['Log keeper']);
      await row.getByRole('link', { name: `member ${hal.id}` }).click();
      await page.getByRole('heading', { name: hal.name }).waitFor();
    });
  });
});
