// The moderators' page: threads, which are found, closed, opened and described.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, newSubject, tryPostComment } from './support/api.mjs';
import {
  admin,
  newMember,
  smallTargets,
  until,
  violations,
  withConsole,
} from './support/console.mjs';
import { BASE, DESKTOP, NARROW, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

/** A thread with a comment, in the moderators' list. */
async function newThread() {
  const { name } = { name: newSubject() };
  const member = newMember('Starter');
  const { status } = await tryPostComment(name, newText('first'), member.token);
  assert.equal(status, 201);
  await until(
    () => read(name),
    (found) => found?.comments === 1,
  );
  return { name, member };
}

async function read(name) {
  const { data } = await admin('GET', `/v1/admin/subjects?q=${encodeURIComponent(name)}`);
  return data[0];
}

const card = (page, name) => page.locator(`[data-subject="${name}"]`);

describe('console: threads', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('a thread is found, closed, taken back by a key, and opened', async () => {
    const { name, member } = await newThread();
    await withConsole({ section: 'subjects' }, async (page) => {
      await page.getByRole('searchbox').fill(name);
      await page.keyboard.press('Enter');
      await page.waitForURL(/subjects\?q=/);
      const thread = card(page, name);
      await thread.getByText('1 comment').waitFor();
      await thread.getByRole('button', { name: 'Close the thread' }).click();
      await thread.getByText('closed', { exact: true }).waitFor();
      const refused = await tryPostComment(name, newText('too late'), member.token);
      assert.equal(refused.data?.code, 'subject_closed');
      await page.getByRole('button', { name: /^Undo/ }).waitFor();
      await page.locator('h2').click();
      await page.keyboard.press('z');
      await thread.getByText('open', { exact: true }).waitFor();
      assert.equal((await read(name)).state, 'open');

      await thread.getByRole('button', { name: 'Close the thread' }).click();
      await thread.getByText('closed', { exact: true }).waitFor();
      await page.getByLabel('State').selectOption('closed');
      await page.getByRole('button', { name: 'Search' }).click();
      await page.waitForURL(/state=closed/);
      await thread.getByRole('button', { name: 'Open the thread' }).click();
      await thread.getByText('open', { exact: true }).waitFor();
    });
  });

  test('title and address are edited; the comments of a thread are one link away', async () => {
    const { name } = await newThread();
    const title = newText('盖楼 title');
    await withConsole({ section: `subjects?q=${encodeURIComponent(name)}` }, async (page) => {
      const thread = card(page, name);
      await thread.getByRole('button', { name: 'Edit' }).click();
      const dialog = page.getByRole('dialog', { name });
      await dialog.getByLabel('Title').fill(title);
      await dialog.getByLabel('Address').fill('https://example.org/thread');
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      await thread.getByText(title).waitFor();
      const { title: stored, url } = await read(name);
      assert.deepEqual([stored, url], [title, 'https://example.org/thread']);
      const feed = await call('GET', `/v1/subjects/${name}/feed.atom`);
      assert.equal(feed.status, 200);
      assert.match(
        feed.text,
        /<link rel="alternate" type="text\/html" href="https:\/\/example.org\/thread"/,
      );
      await thread.getByRole('link', { name: '1 comment' }).click();
      await page.waitForURL(/comments\?subject=.+&state=published$/);
      await page.goBack();
      await thread.getByRole('link', { name: 'Comments of any state' }).click();
      await page.waitForURL(/comments\?subject=[^&]+$/);
    });
  });

  test('a thread is hidden from readers, shown again, and neither is final', async () => {
    const { name } = await newThread();
    await withConsole({ section: `subjects?q=${encodeURIComponent(name)}` }, async (page) => {
      const thread = card(page, name);
      const becomes = async (state) => {
        await thread.getByText(state, { exact: true }).waitFor();
        await until(
          () => read(name),
          (found) => found.state === state,
        );
      };
      await thread.getByRole('button', { name: 'Hide it' }).click();
      await becomes('hidden');
      await page.getByRole('button', { name: /^Undo/ }).click();
      await becomes('open');
      await thread.getByRole('button', { name: 'Hide it' }).click();
      await becomes('hidden');
      await thread.getByRole('button', { name: 'Show it again' }).click();
      await becomes('open');
    });
  });

  test('a thread gets an owner and a mode, which are taken back together; a wrong id is named', async () => {
    const { name, member } = await newThread();
    await withConsole({ section: `subjects?q=${encodeURIComponent(name)}` }, async (page) => {
      const thread = card(page, name);
      await thread.getByRole('button', { name: 'Edit' }).click();
      const dialog = page.getByRole('dialog', { name });
      const save = dialog.getByRole('button', { name: 'Save' });
      assert.ok(await save.isDisabled(), 'nothing is changed yet');
      await dialog.getByLabel('Owner').fill('no id');
      await save.click();
      await dialog.getByText('must be a member id or null').waitFor();
      assert.equal((await read(name)).owner_id, null);
      await dialog.getByLabel('Owner').fill(member.id);
      await dialog.getByText(`It belongs to ${member.name}.`).waitFor();
      await dialog.getByLabel('Mode').selectOption('building');
      await save.click();
      await dialog.waitFor({ state: 'detached' });
      await thread.getByText('building (盖楼)').waitFor();
      await thread.getByRole('link', { name: `owner: id ${member.id}` }).waitFor();
      const { owner_id, mode } = await read(name);
      assert.deepEqual([owner_id, mode], [member.id, 'building']);
      await page.getByRole('button', { name: /^Undo/ }).click();
      const before = await until(
        () => read(name),
        (found) => found.owner_id === null,
      );
      assert.notEqual(before.mode, 'building');

      await admin('PUT', `/v1/admin/subjects/${name}`, { owner_id: member.id });
      await page.reload();
      await thread.getByRole('button', { name: 'Edit' }).click();
      await dialog.getByLabel('Owner').fill('');
      await page.keyboard.press('Enter');
      await thread.getByRole('link', { name: /^owner/ }).waitFor({ state: 'detached' });
      assert.equal((await read(name)).owner_id, null);
    });
  });

  test('it is accessible, fits a phone, and speaks both languages', async () => {
    const { name } = await newThread();
    const section = `subjects?q=${encodeURIComponent(name)}`;
    const looks = [
      { viewport: DESKTOP, colorScheme: 'light', locale: 'en' },
      { viewport: NARROW, colorScheme: 'dark', locale: 'zh-CN' },
    ];
    for (const look of looks) {
      await withConsole({ section, ...look }, async (page) => {
        const thread = card(page, name);
        await thread.waitFor();
        await page.getByRole('heading', { name: /^(Threads|主题)$/ }).waitFor();
        if (process.env.E2E_SHOTS) {
          await page.screenshot({ path: `${process.env.E2E_SHOTS}/threads-${look.locale}.png` });
        }
        assert.deepEqual(await violations(page), []);
        await thread.getByRole('button', { name: /^(Edit|编辑)$/ }).click();
        await page.getByRole('dialog').waitFor();
        if (process.env.E2E_SHOTS) {
          await page.screenshot({ path: `${process.env.E2E_SHOTS}/thread-${look.locale}.png` });
        }
        assert.deepEqual(await violations(page), []);
        if (look.viewport !== NARROW) return;
        assert.deepEqual(await smallTargets(page), []);
        await page.keyboard.press('Escape');
        assert.deepEqual(await smallTargets(page), []);
        const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
        assert.equal(scrollWidth, clientWidth);
      });
    }
  });
});
