// A day of a moderator: what a word held, what three readers reported and a guest's first comment are decided one by one
// and together, taken back, looked up, pinned; two moderators work at once.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { call, guestToken, memberToken, newSubject, tryPostComment } from './support/api.mjs';
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
  smallTargets,
  until,
  violations,
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

/** The token of a moderator who has no comment yet. */
const moderator = (name) => memberToken(newMember(name).id, name, 'moderator');

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

/** The buttons that a thumb has for these keys. */
const BUTTONS = { a: 'Approve', j: 'Next', m: 'Mute', p: 'Pin', w: 'Add word' };

/** Presses a key, on a phone the button for it. */
async function press(page, key) {
  if (page.viewportSize().width !== NARROW.width) await page.keyboard.press(key);
  else if (key === 'z') await page.locator('.offer').getByRole('button', { name: /^Undo/ }).click();
  else await decide(page, BUTTONS[key]);
}

/** Selects a word in the text of the open comment. */
const select = (page, word) =>
  page.locator('.now p').evaluate(({ firstChild }, wanted) => {
    const start = firstChild.data.indexOf(wanted);
    getSelection().setBaseAndExtent(firstChild, start, firstChild, start + wanted.length);
  }, word);

/** Goes to a section by its link. */
const goTo = (page, name) => page.locator('nav').getByRole('link', { name }).click();

/** Comments at the head of the queue: a high level of their author makes them urgent. */
async function urgentComments(...names) {
  const comments = [];
  for (const name of names) {
    const writer = memberToken('941', 'Urgent', 'member', 99);
    comments.push(await heldComment(newSubject(), name, writer));
  }
  return comments;
}

/** A thumb opens an entry before it decides. */
const openOnPhone = async (page) => {
  if (!(await page.locator('.open').isVisible())) {
    await page.locator('.entries li').first().getByRole('button').click();
  }
};

const currentText = (page) => page.locator('.entries [aria-current="true"] .start').textContent();

const LOOKS = [
  ['desktop', {}],
  ['phone', { viewport: NARROW, hasTouch: true }],
];

describe("console: a moderator's day", {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  for (const [name, options] of LOOKS) {
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

    test(`an old comment is found in Chinese, with its history, and pinned (${name})`, async () => {
      const writer = newMember('Writer of old');
      const mark = newText('').trim();
      const { data } = await tryPostComment(newSubject(), `昨天下雨 ${mark}`, writer.token);
      const body = { content: `今天天气真好 ${mark}` };
      await call('PATCH', `/v1/comments/${data.id}`, { body, token: writer.token });
      await withConsole({ ...options, section: 'comments' }, async (page) => {
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
        const earlier = card.locator('.history li').filter({ hasText: `昨天下雨 ${mark}` });
        const [{ replaced_at }] = (await admin('GET', `/v1/admin/comments/${data.id}/history`))
          .data;
        const time = earlier.getByText(/^replaced /).locator('time');
        const moment = new Date(await time.getAttribute('datetime')).getTime();
        assert.equal(moment, replaced_at);
        assert.match(await time.textContent(), /^[A-Z].+ [AP]M$/);
        await shoot(page, `${name}-history`);
        await press(page, 'p');
        await card.getByText('pinned', { exact: true }).waitFor();
        assert.equal(await lastAction(data.id), 'pin');
        await press(page, 'z');
        await card.getByText('pinned', { exact: true }).waitFor({ state: 'detached' });
        assert.equal(await lastAction(data.id), 'unpin');
      });
    });

    test(`an author is muted and a word of theirs added after a trial; both are in the log (${name})`, async () => {
      await holdWord();
      const writer = newMember('Loud');
      const word = newText('lotus');
      const { text } = await heldComment(newSubject(), word, writer.token);
      const isMuted = async () =>
        (await admin('GET', `/v1/admin/members/${writer.id}`)).muted_until !== null;
      await withConsole(options, async (page) => {
        await openEntry(page, text);
        await press(page, 'm');
        await page.getByRole('dialog').getByRole('button', { name: '1 day' }).click();
        await until(isMuted, (is) => is);
        await press(page, 'z');
        await until(isMuted, (is) => !is);

        await select(page, word);
        await press(page, 'w');
        const dialog = page.getByRole('dialog');
        await dialog.getByText(/^It is in \d+ of the newest 1,000 comments\.$/).waitFor();
        await dialog.getByLabel('Category').fill('flowers');
        await shoot(page, `${name}-add-word`);
        await dialog.getByRole('button', { name: 'Add', exact: true }).click();
        await dialog.waitFor({ state: 'detached' });
        await goTo(page, 'Audit');
        const rows = page.getByRole('row');
        await rows.filter({ hasText: 'unmute' }).filter({ hasText: writer.id }).waitFor();
        await shoot(page, `${name}-audit`);
        await rows.getByRole('link', { name: word }).click();
        await page.getByRole('row').filter({ hasText: word }).getByRole('button').click();
        await page.getByRole('row').filter({ hasText: word }).waitFor({ state: 'detached' });
      });
    });

    test(`two moderators who have loaded the same list decide no comment twice (${name})`, async () => {
      await holdWord();
      await urgentComments('b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8');
      const { promise: released, resolve: release } = Promise.withResolvers();
      const decided = [];
      let underWay = 0;
      let asked = 0;
      const isCall = (request) =>
        request.method() === 'POST' && request.url().includes('/v1/admin/');
      const prepare = async (page) => {
        await page.route('**/v1/admin/queue/lease', async (route) => {
          await released;
          await route.fallback();
        });
        page.on('request', (request) => {
          asked += 1;
          underWay += isCall(request) ? 1 : 0;
        });
        page.on('response', async (response) => {
          if (!isCall(response.request())) return;
          const { data } = await response.json();
          const isDecision = response.url().endsWith('/v1/admin/decisions');
          if (isDecision) decided.push(...data.map(({ id, status }) => `${id} ${status}`));
          underWay -= 1;
        });
      };
      const first = (page) => page.locator('.entries li').first().waitFor();
      const [una, zoe] = ['Una', 'Zoe'].map((who) => moderator(who));
      await withConsole({ ...options, prepare, token: una }, async (one) => {
        await first(one);
        await withConsole({ ...options, prepare, token: zoe }, async (other) => {
          await first(other);
          assert.equal(await currentText(other), await currentText(one), 'no lease is known yet');
          for (const page of [one, other]) await openOnPhone(page);
          const decideThree = async (page) => {
            await press(page, 'a');
            release();
            for (let n = 0; n < 2; n += 1) {
              await press(page, 'j');
              await press(page, 'a');
            }
          };
          await Promise.all([decideThree(one), decideThree(other)]);
          await until(
            async () => {
              const before = asked;
              await one.waitForTimeout(400);
              return [underWay, asked - before];
            },
            ([calls, more]) => calls === 0 && more === 0,
          );
          assert.ok(decided.length > 0);
          assert.deepEqual(
            decided.filter((outcome) => !outcome.endsWith(' 200')),
            [],
          );
          assert.equal(new Set(decided).size, decided.length, decided.join(', '));
          await until(
            async () => [await currentText(one), await currentText(other)],
            ([a, b]) => a !== b,
          );
          for (const page of [one, other]) {
            assert.equal(await page.locator('.open .bad-text').count(), 0);
          }
        });
      });
    });

    test(`a comment that another moderator has taken since is passed over; one that was chosen says who has it (${name})`, async () => {
      await holdWord();
      const [mine, taken, free] = await urgentComments('mine', 'taken', 'free');
      const body = { ids: [taken.id] };
      await withConsole({ ...options, token: moderator('Una') }, async (page) => {
        await openEntry(page, mine.text);
        await areIn(page, [free], true);
        const token = moderator('Nia');
        const { data } = await call('POST', '/v1/admin/queue/lease', { body, token });
        assert.deepEqual(data.leased, [taken.id]);
        await press(page, 'j');
        await page.locator('.now').filter({ hasText: free.text }).waitFor();
        await entry(page, taken.text).getByText('Nia has this one.').waitFor({ state: 'attached' });
        await backToList(page);

        await openEntry(page, taken.text);
        await page.locator('.open').getByText('Nia has this one.').waitFor();
        await shoot(page, `${name}-another-has-it`);
        assert.deepEqual(await violations(page), []);
        if (options.viewport === NARROW) assert.deepEqual(await smallTargets(page), []);
        await page.getByRole('button', { name: 'To the next free one' }).click();
        await page.locator('.now').filter({ hasText: free.text }).waitFor();
        await backToList(page);
        for (const { text } of [mine, taken]) await entry(page, text).getByRole('checkbox').check();
        await press(page, 'a');
        await page.getByText('One comment was left to the moderator who has it.').waitFor();
        await assertLast([mine], 'approve');
        assert.equal(await lastAction(taken.id), undefined);
        await areIn(page, [mine], false);
        await areIn(page, [taken], true);
        await page.locator('.now').filter({ hasText: free.text }).waitFor({ state: 'attached' });

        await backToList(page);
        await openEntry(page, taken.text);
        await page.locator('.open').getByText('Nia has this one.').waitFor();
        await page.getByRole('button', { name: 'Decide it all the same' }).click();
        await press(page, 'a');
        await assertLast([taken], 'approve');
      });
    });
  }
});
