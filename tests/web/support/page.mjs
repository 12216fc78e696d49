// Opens the page with the element and does on it what a reader does.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { newContext } from './browser.mjs';
import { BASE, WAIT_MS } from './environment.mjs';

/**
 * Opens the demo page for a subject, without the elements beside the thread, and with `lang`, `hash` and `query` in its
 * address. `page.problems` collects the errors of its scripts.
 */
export async function openPage(context, subject, { lang = 'en', hash = '', query = '' } = {}) {
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(error.message));
  const address = `${BASE}/?subject=${encodeURIComponent(subject)}&lang=${lang}&aside=off`;
  await page.goto(address + query + hash);
  return page;
}

/**
 * Runs `steps` on a new page as soon as its list is loaded. `prepare` gets the context before the page
 * is opened; the other options are those of the context.
 */
export async function withPage(subject, { lang, hash, query, prepare, ...options }, steps) {
  const context = await newContext(options);
  try {
    await prepare?.(context);
    const page = await openPage(context, subject, { lang, hash, query });
    // The comments are loaded when the reader comes near.
    await page.locator('gailou-comments').scrollIntoViewIfNeeded();
    await listIsLoaded(page);
    await steps(page);
    assert.deepEqual(page.problems, [], 'no script error on the page');
  } finally {
    await context.close();
  }
}

export const listIsLoaded = (page) =>
  page.locator('.list[aria-busy="false"]').waitFor({ state: 'attached' });

/** What is loaded when the pointer or the focus comes to the comments listens: keys, folds, pictures. Its button stands there, hidden. */
export const usedPartsRun = (page) =>
  page.locator('gailou-comments .quote-selection').waitFor({ state: 'attached' });

export const newText = (what) => `${what} ${randomUUID().slice(0, 8)}`;

export const comments = (page) => page.locator('gailou-comments').getByRole('article');
export const commentWith = (page, text) => comments(page).filter({ hasText: text }).first();
export const mainForm = (page) => page.locator('gailou-comments section > form.composer');

/** Makes the form of the line that it is before its use. `button` is the one that sends. */
export async function openForm(form, button = 'Post') {
  await form.locator('textarea').focus();
  await form.getByRole('button', { name: button, exact: true }).waitFor();
}

/** Fills in and sends a form, with a guest's name when the form has a field for it. */
export async function sendForm(form, text, button) {
  await openForm(form, button);
  const nameField = form.getByLabel(/^(Your name|昵称)$/);
  if (await nameField.isVisible()) await nameField.fill('Test guest');
  await form.locator('textarea').fill(text);
  await form.getByRole('button', { name: button, exact: true }).click();
}

/** Posts a root and returns its article as soon as the server has answered. */
export async function postOnPage(page, text, shownText = text) {
  await sendForm(mainForm(page), text, 'Post');
  const comment = commentWith(page, shownText);
  await isAcknowledged(comment);
  return comment;
}

/** Waits until the server has answered; a comment that is still being sent is shown before that. */
export const isAcknowledged = (comment) =>
  comment.and(comment.page().locator('[data-id]:not([data-id^="sending"])')).waitFor();

/** Fails with `message` when nothing of the locator becomes visible. */
export async function assertVisible(locator, message) {
  await locator
    .first()
    .waitFor({ timeout: WAIT_MS })
    .catch(() => assert.fail(message));
}

export async function assertAttribute(locator, name, value) {
  const matching = locator.and(locator.page().locator(`[${name}="${value}"]`));
  await assertVisible(matching, `${name} becomes ${value}`);
}

export const isFocused = (locator) =>
  locator.evaluate((node) => node.getRootNode().activeElement === node);
