// The moderators' page: all comments, where the server finds them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newSubject, tryPostComment } from './support/api.mjs';
import {
  admin,
  heldComment,
  holdWord,
  lastAction,
  newMember,
  smallTargets,
  until,
  violations,
  withConsole,
} from './support/console.mjs';
import { BASE, DESKTOP, NARROW, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

const CALL = '**/v1/admin/comments?*';

/** Answers the call of the search with these comments; `asked` gets the parameters of each. */
function answerSearch(page, comments, asked = []) {
  return page.route(CALL, (route) => {
    asked.push(Object.fromEntries(new URL(route.request().url()).searchParams));
    return route.fulfill({ json: { data: comments, page: { next: null, has_more: false } } });
  });
}

describe('console: all comments', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('comments are found by their text and by their author, and are decided where they are found', async () => {
    const member = newMember('Finder');
    const word = newText('marigold').replace(' ', '');
    const { data } = await tryPostComment(newSubject(), `some ${word} here`, member.token);
    const path = `/v1/admin/comments?q=${word}`;
    await withConsole({ section: 'comments' }, async (page) => {
      await until(
        () => admin('GET', path),
        (found) => found.data.length === 1,
      );
      await page.getByRole('searchbox').fill(word);
      await page.getByRole('button', { name: 'Search' }).click();
      const card = page.locator(`.comments [data-id="${data.id}"]`);
      await card.locator('mark').getByText(word).waitFor();
      await card.getByRole('button', { name: /^Hide/ }).click();
      await card.getByText('hidden', { exact: true }).waitFor();
      await page.goto(`${BASE}/console#/members/${member.id}`);
      await page.locator('.counts').waitFor();
      await page.getByRole('link', { name: 'All comments' }).last().click();
      await card.waitFor();
    });
  });

  test('where the server has no search there is no such section', async () => {
    const problem = { type: 'about:blank', title: 'Not Found', status: 404, code: 'not_found' };
    const prepare = (page) =>
      page.route(CALL, (route) => route.fulfill({ status: 404, json: problem }));
    await withConsole({ section: 'comments', prepare }, async (page) => {
      await page.getByText('This server has no search').waitFor();
      assert.equal(await page.getByRole('link', { name: 'All comments' }).count(), 0);
    });
  });

  test('a search is an address, and its fields are the parameters of the call', async () => {
    const asked = [];
    const prepare = (page) => answerSearch(page, [], asked);
    await withConsole({ section: 'comments', prepare }, async (page) => {
      await page.getByRole('searchbox').fill('盖楼');
      await page.getByText('More filters').click();
      await page.getByLabel('State').selectOption('hidden');
      await page.getByLabel(/^Author/).fill('7');
      await page.getByLabel('From').fill('2026-11-01');
      await page.getByRole('button', { name: 'Search' }).click();
      await page.waitForURL(/q=.*state=hidden.*member=7.*from=2026-11-01/);
      await page.reload();
      await page.getByText('Nothing was found.').waitFor();
      const from = await page.evaluate(() => String(new Date(2026, 10, 1).getTime()));
      assert.deepEqual(asked.at(-1), { q: '盖楼', state: 'hidden', member: '7', from });
      await page.getByRole('link', { name: 'Clear' }).click();
      await page.waitForURL(/comments$/);
      const typed = () => page.getByRole('searchbox').inputValue();
      await until(typed, (value) => value === '');
    });
  });

  test('a comment of any state has an address, where it is decided', async () => {
    await holdWord();
    const author = newMember('Addressed');
    const { id, text } = await heldComment(newSubject(), 'at its address', author.token);
    const looks = [
      { viewport: DESKTOP, colorScheme: 'light' },
      { viewport: NARROW, colorScheme: 'dark', locale: 'zh-CN' },
    ];
    for (const look of looks) {
      await withConsole({ section: `comments/${id}`, ...look }, async (page) => {
        const card = page.locator(`.comments [data-id="${id}"]`);
        await card.getByText(text).waitFor();
        if (process.env.E2E_SHOTS) {
          const path = `${process.env.E2E_SHOTS}/comment-${look.viewport.width}.png`;
          await page.screenshot({ path });
        }
        assert.deepEqual(await violations(page), []);
        if (look.viewport === NARROW) return assert.deepEqual(await smallTargets(page), []);
        await page.keyboard.press('a');
        await card.getByText('published', { exact: true }).waitFor();
        await page.getByRole('button', { name: /^Undo/ }).click();
        await card.getByText('held', { exact: true }).waitFor();
        assert.equal(await lastAction(id), 'undo');
        // A search finds it a moment later.
        await until(
          () => admin('GET', `/v1/admin/comments?member=${author.id}`),
          (found) => found.data.length === 1,
        );
        await page.getByRole('link', { name: 'All comments of the author' }).click();
        await page.waitForURL(/comments\?member=/);
        await card.getByRole('link', { name: /\d:\d\d/ }).click();
        await page.waitForURL(new RegExp(`comments/${id}$`));
      });
    }
  });

  test('a comment that does not exist, or an id that is none, is said', async () => {
    await withConsole({ section: 'comments/3561132209628798980' }, async (page) => {
      await page.getByText('There is no such comment').waitFor();
    });
    await withConsole({ section: 'comments/none' }, async (page) => {
      await page.getByRole('alert').waitFor();
    });
  });

  test('keys go through what was found; it is accessible and fits a phone', async () => {
    const member = newMember('Found');
    const comments = [];
    for (const what of ['first', 'second']) {
      const { data } = await tryPostComment(newSubject(), newText(what), member.token);
      comments.push({ ...data, highlight: `<mark>${what}</mark> &lt;b&gt;` });
    }
    const looks = [
      { viewport: DESKTOP, colorScheme: 'dark' },
      { viewport: NARROW, colorScheme: 'light' },
    ];
    for (const look of looks) {
      const prepare = (page) => answerSearch(page, comments);
      await withConsole(
        { section: 'comments?q=x&state=published', prepare, ...look },
        async (page) => {
          const cards = page.locator('.comments .card');
          await cards.first().locator('mark').getByText('first').waitFor();
          assert.equal(await cards.first().locator('b').count(), 1, 'only the name is bold');
          assert.equal(await cards.nth(1).getByText(comments[1].content).count(), 0, 'an excerpt');
          await page.keyboard.press('j');
          await cards.nth(1).getByText(comments[1].content).waitFor();
          await cards.nth(1).and(page.locator('[aria-current]')).waitFor();
          await page.keyboard.press('f');
          await cards.nth(1).getByText('featured').waitFor();
          await page.getByRole('button', { name: /^Undo/ }).waitFor();
          assert.deepEqual(await violations(page), []);
          if (look.viewport === NARROW) assert.deepEqual(await smallTargets(page), []);
          await page.keyboard.press('z');
          await cards.nth(1).getByText('featured').waitFor({ state: 'detached' });
          await page.keyboard.press('m');
          await page.getByRole('dialog', { name: `Mute ${member.name}` }).waitFor();
        },
      );
    }
  });
});
