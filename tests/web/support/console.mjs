// The moderators' page in a browser: signing in, opening a comment, and what every section has to hold.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, callUntil, memberToken, tryPostComment } from './api.mjs';
import { interceptFromStart, newContext } from './browser.mjs';
import { BASE, DESKTOP, WAIT_MS } from './environment.mjs';
import { newText } from './page.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
export const HELD_WORD = 'zzheldzz';
export const ADMIN = () => memberToken('900', 'Ada', 'admin');
export const MODERATOR = () => memberToken('901', 'Mo', 'moderator');

export async function admin(method, path, body) {
  const answer = await call(method, path, { body, token: ADMIN() });
  assert.equal(answer.status, 200, answer.text);
  return answer.data;
}

export async function holdWord() {
  const term = { term: HELD_WORD, category: 'console', action: 'review' };
  await admin('PATCH', '/v1/admin/words', { add: [term] });
}

/** A comment that waits for a moderator. The Worker may have the former dictionary, so the origin decides. */
export async function heldComment(subject, what, writer = memberToken('910', 'Wilma')) {
  const text = newText(`${HELD_WORD} ${what}`);
  const answer = await tryPostComment(subject, text, writer);
  assert.equal(answer.status, 202, answer.text);
  const { id } = answer.data;
  // A cluster stores it a moment later.
  const isStored = ({ status }) => status === 200;
  await callUntil(`/v1/admin/comments/${id}`, isStored, { token: MODERATOR() });
  return { id, text };
}

/** What was last done to a comment. */
export async function lastAction(id) {
  const { data } = await admin('GET', '/v1/admin/audit');
  return data.find(({ target }) => target.id === id)?.action;
}

/** Repeats `read` until its value is right, and returns that. */
export async function until(read, isRight) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const value = await read();
    if (isRight(value)) return value;
    assert.ok(Date.now() < deadline, `not in time: ${JSON.stringify(value)?.slice(0, 2_000)}`);
    await sleep(100);
  }
}

/** A member who has written nothing yet, with a name of their own. */
export function newMember(name) {
  const member = { id: String(randomInt(10_000, 2 ** 40)), name: newText(name) };
  return { ...member, token: memberToken(member.id, member.name) };
}

/** Runs `steps` on the console with this token. `prepare` gets the page before it is opened. */
export async function withConsole(
  { token = MODERATOR(), section = 'held', base = BASE, prepare, ...options },
  steps,
) {
  const context = await newContext({ viewport: DESKTOP, ...options });
  try {
    await interceptFromStart(context, '**/v1/admin/**');
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const problems = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && /Content Security/.test(message.text())) {
        problems.push(message.text());
      }
    });
    await prepare?.(page);
    await page.goto(`${base}/console#/${section}`);
    await page.locator('input[type="password"]').fill(token);
    await page.keyboard.press('Enter');
    await page.locator('nav').waitFor();
    await steps(page);
    assert.deepEqual(problems, [], 'no script error, and nothing that the policy refuses');
  } finally {
    await context.close();
  }
}

export const entry = (page, text) => page.locator('.entries li').filter({ hasText: text });

/** Waits until these comments are in the list, or are not. */
export async function areIn(page, comments, isExpected) {
  for (const { text } of comments) {
    await entry(page, text).waitFor({ state: isExpected ? 'attached' : 'detached' });
  }
}

/** What was last done to each of these. */
export async function assertLast(comments, expected) {
  for (const { id } of comments) {
    await until(
      () => lastAction(id),
      (action) => action === expected,
    );
  }
}

/** Opens a comment of the queue, however many pages on. */
export async function openEntry(page, text) {
  const more = page.locator('.queue').getByRole('button', { name: /^(More|更多)$/ });
  await until(
    async () => {
      const count = await entry(page, text).count();
      if (count === 0 && (await more.isVisible()))
        await more.click({ timeout: 1_000 }).catch(() => {});
      return count;
    },
    (count) => count > 0,
  );
  await entry(page, text).getByRole('button').click();
  await page.locator('.now').filter({ hasText: text }).waitFor();
}

export async function violations(page, part = 'html') {
  await page.evaluate(AXE);
  const { violations: found } = await page.evaluate((each) => window.axe.run(each), part);
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Controls that are smaller than a thumb's. */
export function smallTargets(page) {
  return page.evaluate(() => {
    const all = document.querySelectorAll('button, input, select, textarea, summary, nav a');
    const open = document.querySelector('dialog[open]');
    return [...all].flatMap((control) => {
      if (open && !open.contains(control)) return [];
      const target = control.matches('[type="checkbox"]') ? control.closest('label') : control;
      const { width, height } = (target ?? control).getBoundingClientRect();
      const isShown = width > 0 && height > 0;
      return isShown && Math.min(width, height) < 44
        ? [`${Math.round(width)}×${Math.round(height)} ${control.outerHTML.slice(0, 120)}`]
        : [];
    });
  });
}
