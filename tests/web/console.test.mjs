// The moderators' page: what waits, decisions by keys and in bulk, undo, words, settings, the audit log.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { call, memberToken, newSubject, tryPostComment } from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import {
  BASE,
  DESKTOP,
  ORIGIN,
  PHONE,
  skipWithout,
  TOKEN_SECRET,
  WAIT_MS,
} from './support/environment.mjs';
import { newText } from './support/page.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
const HELD_WORD = 'zzheldzz';
const ADMIN = () => memberToken('900', 'Ada', 'admin');
const MODERATOR = () => memberToken('901', 'Mo', 'moderator');

async function admin(method, path, body) {
  const answer = await call(method, path, { body, token: ADMIN() });
  assert.equal(answer.status, 200, answer.text);
  return answer.data;
}

async function holdWord() {
  const term = { term: HELD_WORD, category: 'console', action: 'review' };
  await admin('PATCH', '/v1/admin/words', { add: [term] });
}

/** A comment that waits for a moderator. The Worker may have the former dictionary, so the origin decides. */
async function heldComment(subject, what) {
  const text = newText(`${HELD_WORD} ${what}`);
  const answer = await tryPostComment(subject, text, memberToken('910', 'Writer'));
  assert.equal(answer.status, 202, answer.text);
  return { id: answer.data.id, text };
}

/** What was last done to a comment. */
async function lastAction(id) {
  const { data } = await admin('GET', '/v1/admin/audit');
  return data.find(({ target }) => target.id === id)?.action;
}

/** Runs `steps` on the console with this token. */
async function withConsole({ token = MODERATOR(), section = 'held', ...options }, steps) {
  const context = await newContext({ viewport: DESKTOP, ...options });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const problems = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && /Content Security/.test(message.text())) {
        problems.push(message.text());
      }
    });
    await page.goto(`${BASE}/console#/${section}`);
    await page.locator('input[type="password"]').fill(token);
    await page.keyboard.press('Enter');
    await page.locator('nav').waitFor();
    await steps(page);
    assert.deepEqual(problems, [], 'no script error, and nothing that the policy refuses');
  } finally {
    await context.close();
  }
}

const entry = (page, text) => page.locator('.entries li').filter({ hasText: text });

async function openEntry(page, text) {
  const more = page.getByRole('button', { name: /^(More|更多)$/ });
  for (let pages = 0; pages < 20; pages += 1) {
    await page
      .locator('.queue')
      .getByText(/^(Loading…|加载中…)$/)
      .waitFor({ state: 'detached' });
    if ((await entry(page, text).count()) > 0 || (await more.count()) === 0) break;
    await more.click();
  }
  await entry(page, text).getByRole('button').click();
  await page.locator('.now').filter({ hasText: text }).waitFor();
}

async function violations(page) {
  await page.evaluate(AXE);
  const { violations: found } = await page.evaluate(() => window.axe.run());
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

describe('console', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('only who moderates signs in', async () => {
    const context = await newContext();
    const page = await context.newPage();
    await page.goto(`${BASE}/console`);
    await page.locator('input[type="password"]').fill(memberToken('7', 'Ann'));
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await context.close();
  });

  const skipsOwn = skipWithout({ E2E_ORIGIN: ORIGIN });
  test('the program serves the same page as the Worker', { skip: skipsOwn }, async () => {
    for (const path of ['/console', '/console.js', '/console.css']) {
      const [own, worker] = await Promise.all([ORIGIN, BASE].map((host) => fetch(host + path)));
      assert.deepEqual([own.status, worker.status], [200, 200], path);
      assert.equal(await own.text(), await worker.text(), path);
      const policies = [own, worker].map(({ headers }) => headers.get('content-security-policy'));
      assert.equal(policies[0], policies[1], path);
    }
  });

  test('what a word held and what readers reported wait with their reasons', async () => {
    await holdWord();
    const subject = newSubject();
    const held = await heldComment(subject, 'held');
    const text = newText('reported');
    const reported = (await tryPostComment(subject, text, memberToken('911', 'Other'))).data;
    for (const sub of ['920', '921']) {
      const body = { reason: 'spam', note: 'look here' };
      const path = `/v1/comments/${reported.id}/reports`;
      await call('POST', path, { body, token: memberToken(sub, `R${sub}`) });
    }
    await withConsole({}, async (page) => {
      await openEntry(page, held.text);
      await entry(page, held.text).getByText('word: console').waitFor();
      await page.getByRole('link', { name: /^Reports/ }).click();
      await openEntry(page, text);
      await page.locator('article summary').click();
      await page.getByText('look here').first().waitFor();
    });
  });

  test('a key decides, Z takes it back, shift marks several', async () => {
    await holdWord();
    const subject = newSubject();
    const comments = [];
    for (const what of ['one', 'two', 'three']) comments.push(await heldComment(subject, what));
    await withConsole({}, async (page) => {
      await openEntry(page, comments[0].text);
      await page.keyboard.press('r');
      await entry(page, comments[0].text).waitFor({ state: 'detached' });
      await page.locator('.offer').waitFor();
      assert.equal(await lastAction(comments[0].id), 'reject');
      await page.keyboard.press('z');
      await page.locator('.now').filter({ hasText: comments[0].text }).waitFor();
      await page.getByText('Undone.').waitFor();
      assert.equal(await lastAction(comments[0].id), 'undo');

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

  test('two moderators see each other', async () => {
    await holdWord();
    const { id, text } = await heldComment(newSubject(), 'leased');
    const body = { ids: [id] };
    await call('POST', '/v1/admin/queue/lease', {
      body,
      token: memberToken('902', 'Nia', 'moderator'),
    });
    await withConsole({}, async (page) => {
      await openEntry(page, text);
      await page.getByText('Nia has this one.').waitFor();
    });
  });

  test('a word is tried before it is added, and removed again', async () => {
    const word = newText('gardenia');
    await tryPostComment(newSubject(), `a ${word} in it`, memberToken('912', 'Flora'));
    await withConsole({ section: 'words' }, async (page) => {
      await page.getByLabel('Word or phrase').fill(word);
      await page.getByLabel('Category').fill('flowers');
      await page.getByRole('button', { name: 'Try it' }).click();
      await page.getByText('It is in 1 of the newest 1,000 comments.').waitFor();
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      const row = page.getByRole('row').filter({ hasText: word });
      await row.waitFor();
      await row.getByRole('button').click();
      await row.waitFor({ state: 'detached' });
    });
  });

  test('an admin changes settings, and reads of it in the log; a moderator may not', async () => {
    await withConsole({ token: ADMIN(), section: 'settings' }, async (page) => {
      const threshold = page.getByLabel(/^Reports that take a comment out/);
      const before = await threshold.inputValue();
      await threshold.fill('-1');
      await page.getByRole('button', { name: 'Save' }).click();
      // The browser's own check of the field comes first.
      assert.equal(await threshold.evaluate((field) => field.validity.valid), false);
      await threshold.fill('17');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      assert.equal((await admin('GET', '/v1/admin/settings')).settings.rules.report_threshold, 17);
      await threshold.fill(before);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('button[type="submit"]:disabled').waitFor();
      await page.getByRole('link', { name: /^Audit/ }).click();
      await page.getByRole('row').filter({ hasText: 'settings' }).first().waitFor();
    });
    await withConsole({ section: 'settings' }, async (page) => {
      await page.getByText('Only admins change settings.').waitFor();
    });
  });

  test('every section is accessible, light and dark, and fits a phone', async () => {
    await holdWord();
    const { text } = await heldComment(newSubject(), 'for the looks');
    const looks = [
      { viewport: DESKTOP, colorScheme: 'light' },
      { viewport: PHONE, colorScheme: 'dark', locale: 'zh-CN' },
    ];
    for (const look of looks) {
      await withConsole({ token: ADMIN(), ...look }, async (page) => {
        await openEntry(page, text);
        for (const section of ['held', 'reported', 'words', 'audit', 'settings']) {
          await page.locator(`nav a[href="#/${section}"]`).click();
          await page.locator(`nav a[href="#/${section}"][aria-current]`).waitFor();
          await page.waitForLoadState('networkidle');
          assert.deepEqual(await violations(page), [], `${section} ${look.colorScheme}`);
          const overflow = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          assert.equal(overflow, 0, `${section} is no wider than the screen`);
        }
      });
    }
  });
});
