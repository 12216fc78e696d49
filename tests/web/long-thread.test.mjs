// A thread of 2,000 comments, all of them in the element: scrolling through it stays smooth.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { callUntil, newSubject, subjectPath } from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import { ADMIN } from './support/console.mjs';
import { BASE, DESKTOP, ORIGIN, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { withPage } from './support/page.mjs';

const ROOTS = 500;
/** As many as a list brings with a root. */
const REPLIES = 3;
const COMMENTS = ROOTS * (1 + REPLIES);
/** Where the page is scrolled: from these parts of its height, so many steps of so many pixels. */
const STARTS = [0, 0.3, 0.6, 0.9];
const STEPS = 15;
const STEP_PX = 200;
/** What a browser calls a long task. Other programs of the machine may take its processors, so it is time of the thread. */
const LONG_MS = 50;
/** Of all steps, so many may be long where those through an empty page are not. */
const MAX_MORE_LONG_STEPS = 3;
/** The first 20 roots are always drawn; the others where they are near the window. */
const MAX_DRAWN_ROOTS = 60;

/** Imports the thread. */
async function seed(subject) {
  const line = (id, of, number) =>
    JSON.stringify({
      subject: subject.replace('/', ':'),
      id,
      root: of,
      parent: of,
      author: `Reader ${number % 50}`,
      content: `${id}: ${'How high will this building be? '.repeat(1 + (number % 6))}`,
      created_at: 1_700_000_000_000 + 1_000 * number,
    });
  const lines = Array.from({ length: ROOTS }, (_, i) => {
    const first = i * (1 + REPLIES);
    const replies = Array.from({ length: REPLIES }, (_, k) =>
      line(`reply ${i} ${k}`, `root ${i}`, first + 1 + k),
    );
    return [line(`root ${i}`, null, first), ...replies];
  });
  const answer = await fetch(`${ORIGIN}/v1/admin/import`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-ndjson', Authorization: `Bearer ${ADMIN()}` },
    body: lines.flat().join('\n'),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  assert.equal(JSON.parse(text.trim().split('\n').at(-1)).imported, COMMENTS, text.slice(-300));
  const path = `/v1/subjects/${subjectPath(subject)}`;
  await callUntil(path, ({ data }) => data?.comments === COMMENTS);
}

/** Scrolls to the foot, and presses its button, until so many roots are loaded, for at most a minute. Returns their number. */
function loadRoots(count) {
  const { shadowRoot } = document.querySelector('gailou-comments');
  const list = shadowRoot.querySelector('.list');
  const deadline = Date.now() + 60_000;
  return new Promise((done) => {
    const timer = setInterval(() => {
      window.scrollTo(0, document.documentElement.scrollHeight);
      const more = shadowRoot.querySelector('.foot button');
      if (more.checkVisibility()) more.click();
      if (list.children.length < count && Date.now() < deadline) return;
      clearInterval(timer);
      done(list.children.length);
    }, 20);
  });
}

/** Scrolls by so many pixels, and waits until that is drawn. */
async function scrollStep(pixels) {
  window.scrollBy(0, pixels);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}

/** At this part of the height of the page, how many roots are laid out. */
async function countDrawn(part) {
  window.scrollTo(0, part * (document.documentElement.scrollHeight - innerHeight));
  for (let frame = 0; frame < 5; frame += 1) {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  const list = document.querySelector('gailou-comments')?.shadowRoot.querySelector('.list');
  return [...(list?.children ?? [])].filter(({ firstElementChild }) =>
    firstElementChild.checkVisibility({ contentVisibilityAuto: true }),
  ).length;
}

/** Scrolls through a page. Returns the time that each step takes its main thread, and how many roots are laid out at most. */
async function scrollThrough(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const taskMs = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return 1_000 * metrics.find(({ name }) => name === 'TaskDuration').value;
  };
  const [times, drawn] = [[], []];
  for (const start of STARTS) {
    drawn.push(await page.evaluate(countDrawn, start));
    let before = await taskMs();
    for (let step = 0; step < STEPS; step += 1) {
      await page.evaluate(scrollStep, STEP_PX);
      const after = await taskMs();
      times.push(after - before);
      before = after;
    }
  }
  times.sort((a, b) => a - b);
  return {
    longSteps: times.filter((ms) => ms >= LONG_MS).length,
    medianMs: Math.round(times[Math.floor(times.length / 2)]),
    mostMs: Math.round(times.at(-1)),
    mostDrawn: Math.max(...drawn),
  };
}

/** The same on a page as high as this that has nothing on it. */
async function scrollThroughNothing(height) {
  const context = await newContext({ viewport: DESKTOP });
  try {
    const page = await context.newPage();
    await page.setContent(`<!doctype html><body style="height:${height}px">`);
    return await scrollThrough(page);
  } finally {
    await context.close();
  }
}

describe('long thread', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_ORIGIN: ORIGIN, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('2,000 comments scroll as an empty page does, and few of them are laid out', async (t) => {
    const subject = newSubject('video');
    await seed(subject);
    await withPage(subject, { viewport: DESKTOP, query: '&sort=old' }, async (page) => {
      assert.equal(await page.evaluate(loadRoots, ROOTS), ROOTS);
      const bodies = await page.locator('gailou-comments .body').count();
      assert.equal(bodies, COMMENTS, 'each with its replies');
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      const nothing = await scrollThroughNothing(height);
      const thread = await scrollThrough(page);
      t.diagnostic(JSON.stringify({ height, nothing, thread }));
      const most = nothing.longSteps + MAX_MORE_LONG_STEPS;
      assert.ok(thread.longSteps <= most, `${thread.longSteps} long steps, ${most} at most`);
      assert.ok(thread.mostDrawn >= 20, `${thread.mostDrawn} roots are laid out`);
      assert.ok(thread.mostDrawn <= MAX_DRAWN_ROOTS, `${thread.mostDrawn} roots are laid out`);
    });
  });
});
