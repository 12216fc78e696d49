// The page while the origin is down. Before these tests, load the page of `article/hello` through the
// edge and then stop the origin. While the origin answers, the tests skip themselves; with E2E_OFFLINE
// they fail instead.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call } from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import { BASE, IS_OFFLINE, skipWithout } from './support/environment.mjs';
import {
  comments,
  commentWith,
  mainForm,
  newText,
  openForm,
  openPage,
  sendForm,
} from './support/page.mjs';

/** Three retries, each after the server's Retry-After of at most 10 s. */
const RETRIES_MS = 60_000;

/** The edge forwards the creation of a guest to the origin, and answers 5xx when the origin is down. */
async function originAnswers() {
  // An origin that answers refuses this name, so it creates no guest.
  const { status } = await call('POST', '/v1/guests', { body: { name: '' } });
  return status < 500;
}

async function skipReason() {
  if (!BASE || IS_OFFLINE) return skipWithout({ E2E_BASE: BASE });
  return (await originAnswers()) ? 'the origin is up' : false;
}

async function withSavedPage(steps) {
  const context = await newContext();
  try {
    await steps(await openPage(context, 'article/hello'));
  } finally {
    await context.close();
  }
}

describe('origin down', { skip: await skipReason() }, () => {
  test('origin does not answer', async () => {
    assert.equal(await originAnswers(), false);
  });

  test('thread is readable and marked as a saved copy', async () => {
    await withSavedPage(async (page) => {
      await comments(page).first().waitFor();
      await page.getByText('Showing a saved copy').waitFor();
      await openForm(mainForm(page));
      const post = page.getByRole('button', { name: 'Post', exact: true });
      assert.equal(await post.isEnabled(), true);
      await page.locator('#language').click();
      await page.getByText('当前显示的是已保存的副本').waitFor();
    });
  });

  test('failed post shows a message and keeps the text', async () => {
    const text = newText('Written while the server is away');
    await withSavedPage(async (page) => {
      const form = mainForm(page);
      await form.waitFor();
      await sendForm(form, text, 'Post');
      const message = form.getByRole('alert').filter({ hasText: /retrying is safe/i });
      await message.waitFor({ timeout: RETRIES_MS });
      assert.match(await message.textContent(), /Your text is kept here/);
      assert.equal(await form.locator('textarea').inputValue(), text);
      await form.getByRole('button', { name: 'Retry' }).waitFor();
      assert.equal(await commentWith(page, text).count(), 0, 'nothing pretends to be posted');
      await page.reload();
      assert.equal(await form.locator('textarea').inputValue(), text, 'after a reload');
    });
  });
});
