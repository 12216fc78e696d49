// The moderators' page: every number leads to the list of what it counts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, memberToken, newSubject, postComment, tryPostComment } from './support/api.mjs';
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
import { BASE, NARROW, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

/** What may have digits and lead nowhere, each with its reason. */
const EXCEPTIONS = {
  '[dir="auto"], bdi, textarea': 'what people wrote and named, what an admin sets',
  '.member .line > .quiet, .member form label': 'the id names the member whose page it is',
  ':is(.page, fieldset, details) > p.quiet': 'a sentence that names a bound of the server',
  pre: 'what the log keeps of a change, as it is',
  '.tags .tag': 'a level is given, and counts nothing',
  '.likes': 'the server does not list who likes a comment',
  '.live :is(h3, td) b': 'the server does not list reactions',
  '.chart': 'what is pointed at; the total above it and the table lead to the list',
  'tr[data-id] td': 'the server keeps the last try of a delivery alone',
  '.dropped': 'events that were left out are not kept',
};

/** The digits in `main` that are in nothing that leads on; a date, a time and the 0 of nothing need not. */
function deadNumbers(page) {
  return page.evaluate((exceptions) => {
    const date = /[A-Z][a-z]{2} \d{1,2}, \d{4}(, \d{1,2}:\d{2}\s[AP]M)?/g;
    const main = document.querySelector('main');
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const { data, parentElement: host } = walker.currentNode;
      const text = data.replace(date, '').trim();
      if (!/\d/.test(text) || text === '0' || !host.checkVisibility()) continue;
      const leads = host.closest(`a, button, summary, select, time, ${exceptions}`);
      if (!leads) found.push(`${text} in ${host.parentElement.outerHTML}`.slice(0, 300));
    }
    return found;
  }, Object.keys(EXCEPTIONS).join());
}

/** A held comment and one that two readers have reported and like, by a member of whom moderators say something. */
async function countedComments() {
  await holdWord();
  const writer = newMember('Counted');
  const subject = newSubject();
  const held = await heldComment(subject, 'counted', writer.token);
  const reported = await postComment(subject, newText('a root'), writer.token);
  for (const sub of ['951', '952']) {
    const token = memberToken(sub, `Reader ${sub}`);
    const report = { body: { reason: 'spam' }, token };
    const { status } = await call('POST', `/v1/comments/${reported.id}/reports`, report);
    assert.equal(status, 202);
    await call('PUT', `/v1/comments/${reported.id}/like`, { token });
  }
  const standing = { level: 3, muted_until: Date.now() + 1e9, friends: ['951', '952'] };
  await admin('PUT', `/v1/admin/members/${writer.id}`, standing);
  return { writer, held, reported: { id: reported.id, text: reported.content } };
}

/** A text that the word filter refuses. */
async function refusedText() {
  const term = { term: 'zzrefusedzz', category: 'console', action: 'block' };
  await admin('PATCH', '/v1/admin/words', { add: [term] });
  const { status } = await tryPostComment(newSubject(), 'zzrefusedzz 1', newMember('No').token);
  assert.equal(status, 422);
  await until(
    () => admin('GET', '/v1/admin/rejected'),
    ({ data }) => data.length > 0,
  );
}

const list = (data) => ({ data, page: { next: null, has_more: false } });

/** Answers what a test cannot make at once: many acts, events that were left out, a delivery that failed. */
async function answerRest(page) {
  const at = Date.now() - 60_000;
  const acts = { at, posts: 21, held: 22, rejected: 23, reports: 24, reactions: 25 };
  await page.route('**/v1/admin/stats?*', (route) => route.fulfill({ json: { data: [acts] } }));
  const webhook = { id: '7', url: 'https://hook.example/', template: null, secret: null };
  const events = { events: ['comment.held'], created_at: at, failing_since: at, dropped: 26 };
  await page.route('**/v1/admin/webhooks', (route) =>
    route.fulfill({ json: { data: [{ ...webhook, ...events }] } }),
  );
  const delivery = { id: '8', event: 'comment.held', status: 'pending', created_at: at };
  const tries = { attempts: 27, last_status: 500, next_at: at };
  await page.route('**/v1/admin/webhooks/*/deliveries?*', (route) =>
    route.fulfill({ json: list([{ ...delivery, ...tries }]) }),
  );
}

describe('console: numbers', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('every number in every section leads to what it counts', async () => {
    const { writer, held, reported } = await countedComments();
    await refusedText();
    const card = '.comments .card';
    /** Each with what is there once it is loaded. */
    const sections = {
      rejected: card,
      comments: card,
      [`comments?member=${writer.id}`]: '.likes',
      [`comments?member=${writer.id}&reported=true`]: '.likes',
      [`comments/${reported.id}`]: '.likes',
      subjects: `${card} .links`,
      members: '.people li',
      [`members/${writer.id}`]: `.member ${card}`,
      words: 'tbody tr',
      live: '.live tbody tr',
      audit: 'tbody tr',
      webhooks: '.dropped',
      'webhooks/7': 'tr[data-id]',
      transfer: 'fieldset',
      settings: 'textarea',
    };
    await withConsole({ token: ADMIN(), prepare: answerRest }, async (page) => {
      for (const [section, { text }] of Object.entries({ held, reported })) {
        await page.goto(`${BASE}/console#/${section}`);
        await openEntry(page, text);
        await page.locator('.about .counts').waitFor();
        assert.deepEqual(await deadNumbers(page), [], section);
      }
      for (const [section, content] of Object.entries(sections)) {
        await page.goto(`${BASE}/console#/${section}`);
        await page.locator(content).first().waitFor({ state: 'attached' });
        for (const more of await page.locator('main details > summary').all()) await more.click();
        await page.waitForLoadState('networkidle');
        assert.deepEqual(await deadNumbers(page), [], section);
      }
    });
  });

  test('the number that waits leads back to the head of the list, that of reports to the reports', async () => {
    const { reported } = await countedComments();
    await withConsole({ section: 'reported', viewport: NARROW }, async (page) => {
      await openEntry(page, reported.text);
      await page.locator('.open').getByRole('button', { name: '2 × spam' }).click();
      await page.locator('.open details.reports').getByText('Reader 952').waitFor();
      await page
        .locator('.open')
        .getByRole('link', { name: /^\d+ waiting$/ })
        .click();
      await page.locator('.entries').waitFor();
      assert.equal(await page.locator('.open').isVisible(), false);
    });
  });
});
