// The moderators' page: what waits, words, settings, the audit log.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, memberToken, newSubject, tryPostComment } from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import {
  ADMIN,
  admin,
  entry,
  HELD_WORD,
  heldComment,
  holdWord,
  lastAction,
  newMember,
  openEntry,
  smallTargets,
  until,
  violations,
  withConsole,
} from './support/console.mjs';
import {
  BASE,
  DESKTOP,
  NARROW,
  ORIGIN,
  skipWithout,
  TOKEN_SECRET,
} from './support/environment.mjs';
import { newText } from './support/page.mjs';

/** Moves a finger over an element, so many pixels to the right and down. */
async function swipe(page, element, right, down = 0) {
  await element.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await element.boundingBox();
  const [fromX, fromY] = [x + width / 2, y + height / 2];
  const session = await page.context().newCDPSession(page);
  const touch = (type, part) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: type === 'touchEnd' ? [] : [{ x: fromX + right * part, y: fromY + down * part }],
    });
  await touch('touchStart', 0);
  for (const part of [0.25, 0.5, 0.75, 1]) await touch('touchMove', part);
  if (process.env.E2E_SHOTS && down === 0) {
    await page.screenshot({ path: `${process.env.E2E_SHOTS}/swipe${right}.png` });
  }
  await touch('touchEnd', 1);
  await session.detach();
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
    await admin('PUT', `/v1/admin/subjects/${subject}`, { title: 'A page of its own' });
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
      await page.locator('.open').getByText('A page of its own').waitFor();
      const marked = () =>
        page.evaluate(() => [...(CSS.highlights.get('matched-word') ?? [])].map(String));
      await until(marked, ([word]) => word === HELD_WORD);
      await page.locator('.open').getByRole('link', { name: subject }).waitFor();
      await page.getByRole('link', { name: /^Reports/ }).click();
      await openEntry(page, text);
      await until(marked, (words) => words.length === 0);
      await page.locator('article summary').filter({ hasText: 'Reports' }).click();
      await page.getByText('look here').first().waitFor();
    });
  });

  test('network of a comment is blocked without its address', async () => {
    await holdWord();
    const { text } = await heldComment(newSubject(), 'from somewhere');
    await withConsole({}, async (page) => {
      await openEntry(page, text);
      await page.getByText('Network', { exact: true }).click();
      try {
        await page.getByRole('button', { name: 'Block its network' }).click();
        await page.getByText(/^Blocked until .+\.$/).waitFor();
        const answer = await tryPostComment(newSubject(), 'more', memberToken('911', 'Wilma'));
        assert.equal(answer.status, 403, answer.text);
      } finally {
        const blocked = { hashed_networks: null };
        await admin('PATCH', '/v1/admin/settings', { rules: { blocked } });
      }
    });
  });

  test('two moderators see each other', async () => {
    await holdWord();
    const { id, text } = await heldComment(newSubject(), 'leased');
    const lease = { body: { ids: [id] }, token: memberToken('902', 'Nia', 'moderator') };
    // In a cluster the comment is in the queue once its record is persisted.
    await until(
      () => call('POST', '/v1/admin/queue/lease', lease),
      ({ data }) => data.leased.includes(id),
    );
    await withConsole({}, async (page) => {
      await openEntry(page, text);
      await page.locator('.open').getByText('Nia has this one.').waitFor();
      await entry(page, text).getByText('Nia has this one.').waitFor();
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
    await withConsole({ token: ADMIN(), section: 'settings' }, async (page) => {
      const patches = [];
      const threshold = page.getByLabel(/^Reports that take a comment out/);
      // It would sign out the pages of other tests.
      await page.route('**/v1/admin/settings', async (route) => {
        if (route.request().method() !== 'PATCH') return route.fallback();
        const patch = route.request().postDataJSON();
        if (patches.push(patch) === 1) await threshold.fill('18');
        const json = await admin('GET', '/v1/admin/settings');
        json.settings.tokens = patch.tokens;
        return route.fulfill({ json });
      });
      await page.getByText('All members have to sign in again').waitFor();
      await page.getByRole('button', { name: 'Refuse tokens issued before now' }).click();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      await page.getByText(/^Tokens from before .+ are refused\.$/).waitFor();
      const [{ tokens }] = patches;
      assert.ok(Math.abs(Date.now() - tokens.not_before) < 60_000, JSON.stringify(tokens));
      await page.getByRole('button', { name: 'Accept' }).click();
      await page.getByText('All members have to sign in again').waitFor();
      assert.equal(await threshold.inputValue(), '18', 'what was typed while it was saved stays');
      await page.getByRole('button', { name: 'Save' }).click();
      await until(
        async () => patches.length,
        (count) => count === 2,
      );
      assert.deepEqual(patches[1].rules, { report_threshold: 18 });
    });
    await withConsole({ section: 'settings' }, async (page) => {
      await page.getByText('Only admins change settings.').waitFor();
    });
  });

  test('each entry of the log leads to what it is about', async () => {
    await holdWord();
    const writer = newMember('Logged');
    const subject = newSubject();
    const { id, text } = await heldComment(subject, 'logged', writer.token);
    const term = { term: newText('orchid'), category: 'flowers', action: 'mask' };
    await admin('POST', `/v1/admin/comments/${id}/decision`, { action: 'approve' });
    await admin('PUT', `/v1/admin/members/${writer.id}`, { level: 3 });
    await admin('PUT', `/v1/admin/subjects/${subject}`, { title: 'Logged' });
    await admin('PATCH', '/v1/admin/words', { add: [term] });
    const leads = [
      [`comment ${id}`, `#/comments/${id}`, text],
      [`member ${writer.id}`, `#/members/${writer.id}`, writer.name],
      [subject, `#/subjects?q=${encodeURIComponent(subject)}`, 'Logged'],
      [term.term, '#/words?', term.term],
    ];
    await withConsole({ section: 'audit', token: ADMIN() }, async (page) => {
      for (const [name, address, content] of leads) {
        await page.getByRole('link', { name, exact: true }).first().click();
        await until(
          () => new URL(page.url()).hash,
          (hash) => hash.startsWith(address),
        );
        await page.locator('main').getByText(content).first().waitFor();
        await page.goBack();
      }
      if (process.env.E2E_SHOTS) {
        await page.getByRole('link', { name: subject }).waitFor();
        await page.screenshot({ path: `${process.env.E2E_SHOTS}/audit.png` });
      }
    });
    await admin('PATCH', '/v1/admin/words', { remove: [term.term] });
  });

  test('entry of the log is undone, or says why it cannot be', async () => {
    await holdWord();
    const decide = (id, action) => admin('POST', `/v1/admin/comments/${id}/decision`, { action });
    const stateOf = async (id) => {
      const { data } = await admin('GET', `/v1/admin/audit`);
      return data.find(({ target }) => target.id === id).after.state;
    };
    const [undone, changed, old] = await Promise.all(
      ['undone', 'changed', 'old'].map((what) => heldComment(newSubject(), what)),
    );
    for (const { id } of [old, changed, undone]) await decide(id, 'approve');
    await decide(old.id, 'hide');
    await withConsole({ section: 'audit' }, async (page) => {
      const rows = (id) => page.getByRole('row').filter({ hasText: id });
      const undo = (row) => row.getByRole('button', { name: /^Undo: / });
      await undo(rows(undone.id)).waitFor();
      assert.equal(await undo(rows(old.id).last()).count(), 0, 'another decision has come after');
      assert.equal(await undo(rows(old.id).first()).count(), 1);
      await decide(changed.id, 'hide');
      await rows(changed.id).getByRole('button', { name: `Undo: approve · comment` }).click();
      await rows(changed.id).getByText('It has been changed since').waitFor();
      await rows(undone.id).getByRole('button').click();
      await rows(undone.id).getByText('Undone. held').waitFor();
      await rows(undone.id).getByText('undo · comment').waitFor();
      assert.equal(await stateOf(undone.id), 'review');
      assert.deepEqual(await violations(page), []);
      if (process.env.E2E_SHOTS) {
        await page.screenshot({ path: `${process.env.E2E_SHOTS}/audit-undo.png` });
      }
    });
  });

  test('what is selected in a comment becomes a word, after a trial', async () => {
    await holdWord();
    const word = newText('tulip');
    await tryPostComment(newSubject(), `a ${word} in it`, newMember('Flora').token);
    const { text } = await heldComment(newSubject(), word);
    await withConsole({}, async (page) => {
      await openEntry(page, text);
      await page.keyboard.press('w');
      const dialog = page.getByRole('dialog');
      assert.equal(await dialog.getByLabel('Word or phrase').inputValue(), '', 'nothing selected');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });

      await page.locator('.now p').evaluate((node, wanted) => {
        const { firstChild } = node;
        const start = firstChild.data.indexOf(wanted);
        getSelection().setBaseAndExtent(firstChild, start, firstChild, start + wanted.length);
      }, word);
      await page.getByRole('button', { name: 'Add word' }).click();
      assert.equal(await dialog.getByLabel('Word or phrase').inputValue(), word);
      await dialog.getByText('It is in 1 of the newest 1,000 comments.').waitFor();
      const add = dialog.getByRole('button', { name: 'Add', exact: true });
      await dialog.getByLabel('Word or phrase').fill(`${word}s`);
      assert.ok(await add.isDisabled(), 'another word is another trial');
      await dialog.getByLabel('Word or phrase').fill(word);
      await page.keyboard.press('Enter');
      await dialog.getByText('It is in 1 of the newest 1,000 comments.').waitFor();
      await dialog.getByLabel('Category').fill('flowers');
      await add.click();
      await dialog.waitFor({ state: 'detached' });
    });
    const { after } = (await admin('GET', '/v1/admin/audit?action=words')).data[0];
    assert.deepEqual(after.added, [{ term: word, category: 'flowers', action: 'review' }]);
    await admin('PATCH', '/v1/admin/words', { remove: [word] });
  });

  test('a word that was removed is taken back', async () => {
    const term = { term: newText('peony'), category: 'flowers', action: 'mask' };
    await admin('PATCH', '/v1/admin/words', { add: [term] });
    await withConsole({ section: 'words' }, async (page) => {
      const row = page.getByRole('row').filter({ hasText: term.term });
      await row.getByRole('button').click();
      await row.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: /^Undo/ }).click();
      await row.waitFor();
    });
    await admin('PATCH', '/v1/admin/words', { remove: [term.term] });
  });

  test('a question mark shows the keys, Escape closes them, and no key acts behind them', async () => {
    await holdWord();
    const { text } = await heldComment(newSubject(), 'behind');
    await withConsole({}, async (page) => {
      await openEntry(page, text);
      await page.keyboard.press('?');
      const help = page.getByRole('dialog', { name: 'Keys' });
      await help.getByText('Mute the author').waitFor();
      await page.keyboard.press('r');
      await page.keyboard.press('Escape');
      await help.waitFor({ state: 'detached' });
      assert.equal(await entry(page, text).count(), 1, 'it was not rejected');
      await page.keyboard.press('/');
      await page.waitForURL(/#\/(members|comments)$/);
      await page.locator('main input[type="search"]').waitFor();
      await page.keyboard.press('/');
      const focused = page.evaluate(() => document.activeElement?.getAttribute('type'));
      assert.equal(await focused, 'search');
    });
  });

  test('on a phone a comment is opened, decided with the thumb, and the next one follows', async () => {
    await holdWord();
    const { id, text } = await heldComment(newSubject(), 'thumb');
    await withConsole({ viewport: NARROW }, async (page) => {
      assert.equal(await page.locator('.actions').isVisible(), false, 'nothing is open yet');
      await openEntry(page, text);
      assert.equal(await page.locator('.entries').isVisible(), false, 'one at a time');
      await page.getByRole('button', { name: /^Reject/ }).click();
      await page.getByRole('button', { name: /^Undo/ }).waitFor();
      assert.equal(await lastAction(id), 'reject');
      await page.getByRole('button', { name: 'Back to the list' }).click();
      await entry(page, text).waitFor({ state: 'detached' });
    });
  });

  test('a swipe to the right approves, one to the left rejects, and each is taken back', async () => {
    await holdWord();
    const { id, text } = await heldComment(newSubject(), 'swiped');
    const isDecided = async (action) =>
      until(
        () => lastAction(id),
        (last) => last === action,
      );
    const look = { viewport: NARROW, hasTouch: true, isMobile: true, colorScheme: 'dark' };
    await withConsole(look, async (page) => {
      await openEntry(page, text);
      await page.locator('.open').getByText('Swipe right to approve').waitFor();
      await swipe(page, page.locator('.now'), -140);
      await isDecided('reject');
      await page.getByRole('button', { name: /^Undo/ }).click();
      await isDecided('undo');
      await page.locator('.now').filter({ hasText: text }).waitFor();

      await page.getByRole('button', { name: 'Back to the list' }).click();
      await page.locator('.queue').getByText('Swipe right to approve').waitFor();
      assert.deepEqual(await smallTargets(page), []);
      await swipe(page, entry(page, text), 40);
      assert.equal(await entry(page, text).count(), 1, 'not far enough');
      await swipe(page, entry(page, text), 10, 160);
      assert.equal(await entry(page, text).count(), 1, 'it scrolls');
      await swipe(page, entry(page, text), 140);
      await isDecided('approve');
      await page.getByRole('button', { name: /^Undo/ }).click();
      await entry(page, text).waitFor();
    });
  });

  test('every section is accessible, light and dark, and fits a phone and its thumb', async () => {
    await holdWord();
    const writer = newMember('Looks');
    const { text } = await heldComment(newSubject(), 'for the looks', writer.token);
    const note = { note: 'A note.\nOf two lines.', muted_until: Date.now() + 1e9, level: 2 };
    await until(
      () => call('PUT', `/v1/admin/members/${writer.id}`, { body: note, token: ADMIN() }),
      ({ status }) => status === 200,
    );
    const sections = ['held', 'reported', 'subjects', 'members', 'words', 'audit', 'settings'];
    const looks = [
      { viewport: DESKTOP, colorScheme: 'light' },
      { viewport: DESKTOP, colorScheme: 'dark', locale: 'zh-CN' },
      { viewport: NARROW, colorScheme: 'light' },
      { viewport: NARROW, colorScheme: 'dark', locale: 'zh-CN' },
    ];
    for (const look of looks) {
      await withConsole({ token: ADMIN(), ...look }, async (page) => {
        const check = async (what) => {
          await page.waitForLoadState('networkidle');
          const name = `${what} ${look.colorScheme} ${look.viewport.width}`;
          assert.deepEqual(await violations(page), [], name);
          const overflow = await page.evaluate(() => {
            const { scrollWidth, clientWidth } = document.documentElement;
            return scrollWidth - clientWidth;
          });
          assert.equal(overflow, 0, `${name} is no wider than the screen`);
          if (look.viewport === NARROW) assert.deepEqual(await smallTargets(page), [], name);
        };
        for (const section of sections) {
          await page.locator(`nav a[href="#/${section}"]`).click();
          await page.locator(`nav a[href="#/${section}"][aria-current]`).waitFor();
          await check(section);
        }
        await page.goto(`${BASE}/console#/members/${writer.id}`);
        await page.locator('.comments .card').first().waitFor();
        await page.locator('main details summary').last().click();
        await check('a member');
        await page.goto(`${BASE}/console#/held`);
        await openEntry(page, text);
        await page.locator('.about').waitFor();
        await check('an open comment');
        const dialogs = { m: '.buttons', w: 'form', '?': '.key-list' };
        for (const [key, content] of Object.entries(dialogs)) {
          await page.keyboard.press(key);
          await page.getByRole('dialog').locator(content).first().waitFor();
          await check(`the dialog of ${key}`);
          await page.keyboard.press('Escape');
          await page.locator('dialog').waitFor({ state: 'detached' });
        }
      });
    }
  });
});
