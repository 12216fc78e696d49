// What is the reader's own: the name, notifications, all data, and its end.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { call, callUntil, memberToken, newSubject, postComment } from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import {
  admin,
  HELD_WORD,
  heldComment,
  holdWord,
  newMember,
  violations,
} from './support/console.mjs';
import { BASE, NARROW, skipWithout } from './support/environment.mjs';
import {
  assertVisible,
  commentWith,
  listIsLoaded,
  mainForm,
  newText,
  openPage,
  postOnPage,
  sendForm,
  withPage,
} from './support/page.mjs';

const dialog = (page) => page.locator('gailou-comments dialog[open]');

async function openAccount(page) {
  await mainForm(page).getByRole('button', { name: 'Your account' }).click();
  await dialog(page).getByLabel('Your name').waitFor();
}

const idOf = (comment) => comment.getAttribute('data-id');
const authorOf = async (comment) =>
  (await call('GET', `/v1/comments/${await idOf(comment)}`)).data.author;

describe('account', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('guest takes another name and stays the same guest', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const form = mainForm(page);
      const before = await authorOf(await postOnPage(page, newText('Before')));
      await form.getByRole('button', { name: 'Change your name' }).click();
      await form.getByLabel('Your name').fill('Second name');
      const text = newText('After');
      await form.locator('textarea').fill(text);
      await form.getByRole('button', { name: 'Post', exact: true }).click();
      await page.locator('[data-id]:not([data-id^="sending"])').filter({ hasText: text }).waitFor();
      const after = await authorOf(commentWith(page, text));
      assert.deepEqual([after.name, after.id], ['Second name', before.id]);
      await openAccount(page);
      await dialog(page).getByLabel('Your name').fill('Third name');
      await dialog(page).getByRole('button', { name: 'Save' }).click();
      await assertVisible(dialog(page).getByText('Your change is saved.'), 'it is said');
      await page.keyboard.press('Escape');
      await assertVisible(form.getByText('Posting as Third name'), 'the form has the new name');
      const { id } = await authorOf(await postOnPage(page, newText('Third')));
      assert.equal(id, before.id);
    });
  });

  test('guest who signs in keeps what they wrote, and is forgotten', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const text = newText('As a guest');
      const comment = await postOnPage(page, text);
      const element = page.locator('gailou-comments');
      const storedGuest = () =>
        page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes(':guest:')));
      assert.equal((await storedGuest()).length, 1);
      const token = memberToken('931', 'Ann of the site');
      await element.evaluate((node, value) => node.setAttribute('token', value), token);
      await assertVisible(element.getByText('as a guest is yours now'), 'it is said');
      await assertVisible(comment.getByText('Ann of the site'), 'it is shown under the new name');
      assert.deepEqual(await storedGuest(), []);
      const { data } = await call('GET', `/v1/comments/${await idOf(comment)}`);
      assert.deepEqual([data.author.id, data.author.guest, data.content], ['931', false, text]);
      await assertVisible(mainForm(page).getByText('Ann of the site'), 'the reader is the member');
      assert.deepEqual(await violations(page), []);
    });
  });

  test('what waits for a moderator is gone from the page when its author signs out', async () => {
    await holdWord();
    const subject = newSubject();
    const [writer, text] = [newMember('Leaver'), newText('Shown to all')];
    const shown = await postComment(subject, text, writer.token);
    const held = await heldComment(subject, 'for me alone', writer.token);
    const content = newText(`${HELD_WORD} edit for me alone`);
    const edit = { body: { content }, token: writer.token };
    const { data, status } = await call('PATCH', `/v1/comments/${shown.id}`, edit);
    assert.deepEqual([status, data?.state], [202, 'review']);
    await withPage(subject, {}, async (page) => {
      const element = page.locator('gailou-comments');
      await assertVisible(commentWith(page, text), 'what all readers see');
      await element.evaluate((node, value) => node.setAttribute('token', value), writer.token);
      await assertVisible(commentWith(page, held.text), 'the comment that waits');
      await assertVisible(commentWith(page, content), 'the edit that waits');
      await element.evaluate((node) => node.removeAttribute('token'));
      await commentWith(page, held.text).waitFor({ state: 'detached' });
      await assertVisible(commentWith(page, text), 'what all readers see is there again');
      assert.equal(await commentWith(page, content).count(), 0);
    });
  });

  test('everything of a reader is downloaded, and erased', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const text = newText('Mine');
      const comment = await postOnPage(page, text);
      const id = await idOf(comment);
      await openAccount(page);
      const download = page.waitForEvent('download');
      await dialog(page).getByRole('button', { name: 'Download my data' }).click();
      const file = JSON.parse(await readFile(await (await download).path(), 'utf8'));
      assert.deepEqual(
        file.comments.map(({ content }) => content),
        [text],
      );
      await dialog(page).getByRole('button', { name: 'Delete everything…' }).click();
      await dialog(page).getByRole('button', { name: 'Cancel' }).click();
      assert.equal(await dialog(page).count(), 0);
      assert.equal((await call('GET', `/v1/comments/${id}`)).data.content, text, 'not yet');
      await openAccount(page);
      await dialog(page).getByRole('button', { name: 'Delete everything…' }).click();
      await dialog(page).getByRole('button', { name: 'Delete everything for good' }).click();
      await assertVisible(dialog(page).getByText('is being deleted'), 'it is said');
      await callUntil(`/v1/comments/${id}`, (answer) => answer.data?.content === '');
      await page.keyboard.press('Escape');
      await assertVisible(mainForm(page).getByLabel('Your name'), 'the reader is unknown again');
    });
  });

  test('own comments of all threads are listed, newest first, with what is held', async () => {
    await holdWord();
    const [here, elsewhere] = [newSubject(), newSubject()];
    const url = `${BASE}/?subject=${encodeURIComponent(elsewhere)}&lang=en&aside=off`;
    await admin('PUT', `/v1/admin/subjects/${elsewhere}`, { url });
    const writer = newMember('Prolific');
    const oldest = await postComment(here, newText('The first of all'), writer.token);
    const others = [];
    for (let i = 0; i < 21; i += 1) {
      others.push(await postComment(elsewhere, newText(`Another ${i}`), writer.token));
    }
    const held = await heldComment(here, 'and last', writer.token);
    const path = `/v1/members/${writer.id}/comments?limit=20`;
    await callUntil(path, ({ data }) => data?.data?.[0]?.id === others.at(-1).id);
    await withPage(here, {}, async (page) => {
      const element = page.locator('gailou-comments');
      await element.evaluate((node, value) => node.setAttribute('token', value), writer.token);
      const open = async () => {
        await mainForm(page).locator('textarea').focus();
        await mainForm(page).getByRole('button', { name: 'Your account' }).click();
        assert.equal(await dialog(page).getByLabel('Address of your picture').count(), 0);
        await dialog(page).getByRole('button', { name: 'My comments' }).click();
        await dialog(page).getByRole('link').first().waitFor();
      };
      await open();
      const rows = dialog(page).locator('li');
      const expected = [held.text, ...others.map(({ content }) => content).reverse()];
      const shown = (await rows.getByRole('link').allTextContents()).map((text) => text.trim());
      assert.deepEqual(shown, expected.slice(0, 21), 'a page, and what is held before it');
      const marked = await rows.filter({ hasText: 'only you can see this' }).count();
      assert.equal(marked, 1);
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      if (process.env.E2E_SHOTS) {
        await page.screenshot({ path: `${process.env.E2E_SHOTS}/own-comments.png` });
      }
      await dialog(page).getByRole('button', { name: 'Show older ones' }).click();
      await dialog(page).getByRole('link', { name: oldest.content }).click();
      await page.waitForURL(`**#comment-${oldest.id}`);
      assert.equal(await dialog(page).count(), 0, 'it is in this thread');
      await open();
      await dialog(page).getByRole('link', { name: others[20].content }).click();
      await page.waitForURL(`${url}#comment-${others[20].id}`);
      await assertVisible(commentWith(page, others[20].content), 'the page of the other thread');
    });
  });

  test('bell says that another reader has answered, and where', async () => {
    const subject = newSubject();
    const context = await newContext();
    try {
      const page = await openPage(context, subject);
      await listIsLoaded(page);
      const comment = await postOnPage(page, newText('Ask'));
      const { data } = await call('POST', '/v1/guests', { body: { name: 'Answerer' } });
      const answer = newText('Answer');
      const { id } = await postComment(subject, answer, data.token, await idOf(comment));
      const bell = page.locator('gailou-comments').getByRole('button', { name: '1 unread' });
      for (let tries = 0; tries < 20 && !(await bell.isVisible()); tries += 1) {
        await page.reload();
        await listIsLoaded(page);
        await page.waitForTimeout(500);
      }
      await bell.click();
      await assertVisible(dialog(page).getByText('Answerer replied to you'), 'who did what');
      await dialog(page).getByRole('link', { name: answer }).click();
      await page.waitForURL(`**#comment-${id}`);
      assert.equal(await dialog(page).count(), 0);
      await assertVisible(
        page.locator('gailou-comments').getByRole('button', { name: 'Notifications' }),
        'nothing is unread any more',
      );
    } finally {
      await context.close();
    }
  });

  test('thread is watched, the bell leads to its new comment, and the watch is ended', async () => {
    const [watched, other] = [newSubject(), newSubject()];
    await admin('PUT', `/v1/admin/subjects/${watched}`, { title: 'A watched page' });
    const reader = newMember('Watcher');
    const context = await newContext();
    try {
      const page = await openPage(context, watched);
      await listIsLoaded(page);
      const element = page.locator('gailou-comments');
      const watch = element.getByRole('button', { name: 'Watch this thread' });
      assert.equal(await watch.count(), 0, 'who is unknown watches nothing');
      await element.evaluate((node, value) => node.setAttribute('token', value), reader.token);
      await watch.click();
      await element.getByRole('button', { name: 'Watch this thread', pressed: true }).waitFor();
      assert.deepEqual(await violations(page, 'gailou-comments'), []);

      const text = newText('News');
      const { data } = await call('POST', '/v1/guests', { body: { name: 'Writer' } });
      const { id } = await postComment(watched, text, data.token);
      const unread = ({ data }) => data?.unread === 1;
      await callUntil('/v1/me/notifications', unread, { token: reader.token });
      const elsewhere = await openPage(context, other);
      await listIsLoaded(elsewhere);
      const there = elsewhere.locator('gailou-comments');
      await there.evaluate((node, value) => node.setAttribute('token', value), reader.token);
      assert.equal(
        await there.getByRole('button', { name: 'Watch this thread', pressed: true }).count(),
        0,
      );
      await there.getByRole('button', { name: '1 unread' }).click();
      await assertVisible(dialog(elsewhere).getByText('New comments: A watched page'), 'where');
      const link = dialog(elsewhere).getByRole('link', { name: text });
      assert.match(await link.getAttribute('href'), new RegExp(`#comment-${id}$`));
      await elsewhere.keyboard.press('Escape');

      await mainForm(elsewhere).locator('textarea').focus();
      await mainForm(elsewhere).getByRole('button', { name: 'Your account' }).click();
      await dialog(elsewhere).getByRole('button', { name: 'Threads I watch' }).click();
      await assertVisible(
        dialog(elsewhere).getByRole('link', { name: 'A watched page' }),
        'it is listed',
      );
      assert.deepEqual(await violations(elsewhere, 'gailou-comments'), []);
      const end = { name: 'Watch this thread: A watched page' };
      await dialog(elsewhere)
        .getByRole('button', { ...end, pressed: true })
        .click();
      await dialog(elsewhere)
        .getByRole('button', { ...end, pressed: false })
        .waitFor();
      const path = `/v1/subjects/${watched}/watch`;
      const answer = await call('GET', path, { token: reader.token });
      assert.equal(answer.data.watching, false);
    } finally {
      await context.close();
    }
  });

  test('its windows are accessible, and fit a phone in both languages', async () => {
    const subject = newSubject();
    for (const [lang, name] of [
      ['en', 'Your account'],
      ['zh', '我的账号'],
    ]) {
      const options = { lang, viewport: NARROW, colorScheme: 'dark' };
      await withPage(subject, options, async (page) => {
        const button = lang === 'en' ? 'Post' : '发表';
        await sendForm(mainForm(page), newText('On a phone'), button);
        await mainForm(page).getByRole('button', { name }).click();
        await dialog(page).locator('form').waitFor();
        assert.deepEqual(await violations(page), []);
        const { width } = await dialog(page).boundingBox();
        assert.ok(width <= NARROW.width, `${width}`);
      });
    }
  });
});
