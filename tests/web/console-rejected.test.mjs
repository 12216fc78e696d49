// The moderators' page: texts that the word filter refused.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, newSubject, tryPostComment } from './support/api.mjs';
import {
  ADMIN,
  admin,
  lastAction,
  newMember,
  smallTargets,
  until,
  violations,
  withConsole,
} from './support/console.mjs';
import { BASE, DESKTOP, NARROW, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

const BLOCKED_WORD = 'zzrefusedzz';

/** A text of a new member that the origin or the Worker has refused, and that is kept. */
async function refusedText(what, subject = newSubject()) {
  const term = { term: BLOCKED_WORD, category: 'console', action: 'block' };
  await admin('PATCH', '/v1/admin/words', { add: [term] });
  const member = newMember('Refused');
  const text = newText(`${BLOCKED_WORD} ${what}`);
  const { status } = await tryPostComment(subject, text, member.token);
  assert.equal(status, 422);
  const found = await until(
    // A search takes 100 characters, and the end is what no other text has.
    () => admin('GET', `/v1/admin/rejected?q=${encodeURIComponent(text.slice(-100))}`),
    ({ data }) => data.length === 1,
  );
  return { ...found.data[0], text, member };
}

const card = (page, { id }) => page.locator(`.comments [data-id="${id}"]`);

const said = (page, sentence) => page.locator('.said').filter({ hasText: sentence }).waitFor();

describe('console: rejected texts', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('a text is found, accepted as its author’s, and is in the log', async () => {
    const refused = await refusedText('accept me');
    await withConsole({ section: 'rejected' }, async (page) => {
      await page.getByRole('searchbox').fill(refused.text.toUpperCase());
      await page.keyboard.press('Enter');
      await page.waitForURL(/rejected\?q=/);
      await card(page, refused).getByText(refused.text).waitFor();
      await card(page, refused).getByRole('link', { name: 'word: console' }).waitFor();
      await card(page, refused).getByRole('button', { name: 'Accept' }).click();
      await said(page, `Accepted: ${refused.member.name}`);
      await card(page, refused).waitFor({ state: 'detached' });
    });
    const { type, key } = refused.subject;
    const path = `/v1/subjects/${type}/${key}/comments?sort=new`;
    const page = await until(
      () => call('GET', path),
      ({ data }) => data.data.length === 1,
    );
    const [comment] = page.data.data;
    assert.deepEqual([comment.content, comment.author.id], [refused.text, refused.member.id]);
    assert.equal(await lastAction(comment.id), 'accept');
  });

  test('keys accept a text and drop the next one; each can be taken back', async () => {
    const subject = newSubject();
    const [second, first] = [
      await refusedText('key two', subject),
      await refusedText('key one', subject),
    ];
    await withConsole({ section: 'rejected' }, async (page) => {
      await card(page, second).waitFor();
      await until(
        async () => {
          await page.keyboard.press('k');
          return card(page, first).getAttribute('aria-current');
        },
        (current) => current === 'true',
      );
      await page.keyboard.press('a');
      await card(page, first).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: /^Undo/ }).waitFor();
      await page.keyboard.press('z');
      await said(page, 'Undone.');
      const { data } = await admin('GET', '/v1/admin/queue?kind=held&limit=100');
      assert.ok(
        data.some(({ written }) => written === first.text),
        'it waits for a decision',
      );

      assert.equal(await card(page, second).getAttribute('aria-current'), 'true');
      await page.keyboard.press('d');
      await card(page, second).waitFor({ state: 'detached' });
      await said(page, `Dropped: ${second.member.name}`);
      await page.keyboard.press('z');
      await card(page, second).waitFor();
      await page.keyboard.press('?');
      await page.getByRole('heading', { name: /^In rejected texts/ }).waitFor();
    });
    const kept = await admin(
      'GET',
      `/v1/admin/rejected?q=${encodeURIComponent(second.text.slice(-100))}`,
    );
    assert.equal(kept.data.length, 1);
  });

  test('a text is dropped once that cannot be undone; one that is gone leaves the list', async () => {
    const subject = newSubject();
    const [first, second] = [
      await refusedText('drop one', subject),
      await refusedText('drop two', subject),
    ];
    const isStored = async ({ id }) => {
      const { data } = await admin('GET', '/v1/admin/rejected?limit=100');
      return data.some((text) => text.id === id);
    };
    await withConsole({ section: 'rejected' }, async (page) => {
      await card(page, first).getByRole('button', { name: 'Drop' }).click();
      await card(page, first).waitFor({ state: 'detached' });
      assert.ok(await isStored(first), 'it can be undone');
      const dropped = await call('DELETE', `/v1/admin/rejected/${second.id}`, { token: ADMIN() });
      assert.equal(dropped.status, 204);
      await card(page, second).getByRole('button', { name: 'Accept' }).click();
      await page.getByText('Another moderator was first').waitFor();
      await card(page, second).waitFor({ state: 'detached' });
      await page.getByRole('link', { name: /^Audit/ }).click();
      await page.getByRole('link', { name: 'Rejected' }).click();
      await page.locator('.comments, .page .quiet').first().waitFor();
      assert.equal(await card(page, first).count(), 0);
      await until(
        () => isStored(first),
        (stored) => !stored,
      );
    });
  });

  test('a thread that is closed meanwhile is said, and the text stays', async () => {
    const refused = await refusedText('too late');
    const { type, key } = refused.subject;
    await admin('PUT', `/v1/admin/subjects/${type}/${key}`, { state: 'closed' });
    await withConsole({ section: 'rejected' }, async (page) => {
      await until(
        async () => {
          await card(page, refused).getByRole('button', { name: 'Accept' }).click();
          await page
            .locator('.said')
            .filter({ hasText: /did not work/ })
            .waitFor();
          return page.locator('.said').textContent();
        },
        (sentence) => /takes no comments/.test(sentence),
      );
      assert.equal(await card(page, refused).count(), 1);
    });
  });

  test('it is accessible, light and dark, and fits a phone and its thumb', async () => {
    const refused = await refusedText(`for the looks ${'x'.repeat(120)}`);
    const looks = [
      { viewport: DESKTOP, colorScheme: 'light' },
      { viewport: DESKTOP, colorScheme: 'dark', locale: 'zh-CN' },
      { viewport: NARROW, colorScheme: 'light' },
      { viewport: NARROW, colorScheme: 'dark', locale: 'zh-CN' },
    ];
    for (const look of looks) {
      await withConsole({ section: 'rejected', ...look }, async (page) => {
        await card(page, refused).waitFor();
        const name = `${look.colorScheme} ${look.viewport.width}`;
        if (process.env.E2E_SHOTS) {
          await page.screenshot({ path: `${process.env.E2E_SHOTS}/rejected ${name}.png` });
        }
        assert.deepEqual(await violations(page), [], name);
        const overflow = await page.evaluate(() => {
          const { scrollWidth, clientWidth } = document.documentElement;
          return scrollWidth - clientWidth;
        });
        assert.equal(overflow, 0, name);
        if (look.viewport === NARROW) assert.deepEqual(await smallTargets(page), [], name);
      });
    }
  });
});
