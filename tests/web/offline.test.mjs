// The page while the origin is down. Stop the origin first, after the page of `article/hello` was
// seen through the edge. Without E2E_OFFLINE the tests skip themselves while the origin answers;
// with it, an origin that answers is a failure.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call } from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import { BASE, IS_OFFLINE, skipWithout } from './support/environment.mjs';
import { comments, commentWith, mainForm, newText, openPage, sendForm } from './support/page.mjs';

/** Three retries, each after the server's Retry-After of at most 10 s. */
const RETRIES_MS = 60_000;

/** The edge sends the creation of a guest to the origin, and answers 5xx when that is down. */
async function originAnswers() {
  // An origin that is up refuses the name, so no guest is made.
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
  test('origin is really down', async () => {
    assert.equal(await originAnswers(), false);
  });

  test('thread is readable and marked as a saved copy', async () => {
    await withSavedPage(async (page) => {
      await comments(page).first().waitFor();
      await page.getByText('Showing a saved copy').waitFor();
      const post = page.getByRole('button', { name: 'Post', exact: true });
      assert.equal(await post.isEnabled(), true);
      await page.locator('#language').click();
      await page.getByText('当前显示的是已保存的副本').waitFor();
    });
  });

  test('failed post is explained, and the text stays', async () => {
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
