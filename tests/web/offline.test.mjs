// The page while the origin is down: run it after the caller has stopped the origin, with the page
// of `article/hello` seen through the edge before that.
//
//   E2E_BASE=http://127.0.0.1:8787 E2E_OFFLINE=1 node --test tests/web/offline.test.mjs
//
// Without E2E_OFFLINE it skips itself while the origin answers, so that it can lie beside the
// other tests; with it, an origin that answers is a failure.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';

const BASE = (process.env.E2E_BASE || '').replace(/\/$/, '');
const CHROMIUM = process.env.E2E_CHROMIUM || '/usr/bin/chromium';
const SUBJECT = process.env.E2E_OFFLINE_SUBJECT || 'article/hello';
// Three retries, each after the server's Retry-After of at most 10 s.
const RETRIES_MS = 60_000;

/** Making a guest reaches the origin or nothing: an error of the 5xx says that it is down. */
async function originAnswers() {
  const response = await fetch(`${BASE}/v1/guests`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: '' }), // refused by an origin that is up; no guest is made
  });
  return response.status < 500;
}

async function skipReason() {
  if (!BASE) return 'E2E_BASE is not set';
  if (process.env.E2E_OFFLINE) return false;
  return (await originAnswers()) ? 'the origin is up' : false;
}

const skip = await skipReason();
let browser;
before(async () => {
  if (skip) return;
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});
after(() => browser?.close());

async function openPage() {
  const context = await browser.newContext({ locale: 'en-US' });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  await page.goto(`${BASE}/?subject=${encodeURIComponent(SUBJECT)}&lang=en`);
  return page;
}

describe('with the origin down', { skip }, () => {
  test('the origin is really down', async () => {
    assert.equal(await originAnswers(), false);
  });

  test('the thread is readable and says that it is a saved copy', async () => {
    const page = await openPage();
    await page.locator('gailou-comments').getByRole('article').first().waitFor();
    await page.getByText('Showing a saved copy').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Post', exact: true }).isEnabled(), true);
    await page.locator('#language').click();
    await page.getByText('当前显示的是已保存的副本').waitFor();
    await page.context().close();
  });

  test('posting says clearly what happened and keeps the text', async () => {
    const page = await openPage();
    const text = `Written while the server is away ${randomUUID().slice(0, 8)}`;
    const form = page.locator('gailou-comments section > form.composer');
    const box = form.locator('textarea');
    await form.getByLabel('Your name').fill('Patient guest');
    await box.fill(text);
    await form.getByRole('button', { name: 'Post', exact: true }).click();
    const message = form.getByRole('alert').filter({ hasText: /retrying is safe/i });
    await message.waitFor({ timeout: RETRIES_MS });
    assert.match(await message.innerText(), /Your text is kept here/);
    assert.equal(await box.inputValue(), text);
    await form.getByRole('button', { name: 'Retry' }).waitFor();
    const shown = page.locator('gailou-comments').getByRole('article').filter({ hasText: text });
    assert.equal(await shown.count(), 0, 'nothing pretends to be posted');
    await page.reload();
    assert.equal(await box.inputValue(), text, 'the text survives a reload');
    await page.context().close();
  });
});
