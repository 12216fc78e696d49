// `/t/{type}/{key}`, the comments as HTML: they are readable without JavaScript, hostile texts are
// harmless, and the layout does not shift when the element replaces them.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  call,
  callUntil,
  memberToken,
  newSubject,
  postComment,
  subjectPath,
  tryPostComment,
} from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import {
  BASE,
  DEMO_SUBJECTS,
  DESKTOP,
  PHONE,
  skipWithout,
  TOKEN_SECRET,
  WAIT_MS,
} from './support/environment.mjs';
import { HOSTILE_ADDRESSES, HOSTILE_TEXTS } from './support/hostile.mjs';
import { inspectDocument } from './support/inspect.mjs';

/** The content below the comments must be inside the window: a browser reports no other shifts. */
const TALL_PX = 6_000;
/** After this time the caches have the changed subject. */
const CACHE_CATCH_UP_MS = 2_500;

const ELEMENTS = new Set(
  (
    'html head meta title link style body main nav details summary h1 h2 section div ol ul li ' +
    'article header footer strong bdi span a time p script br em del code pre blockquote'
  ).split(' '),
);
const ATTRIBUTES = new Set(
  'charset name content rel href hreflang lang class data-subject id role aria-label aria-hidden dir datetime type start'.split(
    ' ',
  ),
);
const SAFE_LINK =
  /^(https?:\/\/|mailto:|#comment-\d+$|\/t\/|\/write\/|\/v1\/subjects\/[^?#]+\/feed\.atom$)/i;

/** What WCAG 1.4.10 asks for. */
const NARROWEST = { width: 320, height: 800 };
/** The page's languages by the value of `lang`, each in its own name. */
const LANGUAGES = {
  en: 'English',
  'zh-CN': '简体中文',
  'zh-TW': '繁體中文',
  ja: '日本語',
  ko: '한국어',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  'pt-BR': 'Português (Brasil)',
  ru: 'Русский',
  ar: 'العربية',
  he: 'עברית',
};
const FROM_RIGHT = ['ar', 'he'];

/** Fetches the page until it is right: the first ones may come from a cache. */
const htmlUntil = (path, isRight) =>
  callUntil(path, ({ status, text }) => status === 200 && isRight(text));

function assertHarmless(seen) {
  const unknown = (names, known) => names.filter((name) => !known.has(name));
  assert.deepEqual(unknown(seen.elements, ELEMENTS), []);
  assert.deepEqual(unknown(seen.attributes, ATTRIBUTES), []);
  assert.deepEqual([seen.foreign, seen.hasComments, seen.pwned], [0, false, undefined]);
  const unsafeLinks = seen.links.filter((href) => !SAFE_LINK.test(href));
  assert.deepEqual(unsafeLinks, []);
  const scripts = seen.scripts.map(({ type, src }) => [type, src]);
  assert.deepEqual(scripts, [['application/ld+json', null]]);
  const mixedNames = seen.names.filter(({ isolated }) => !isolated);
  assert.deepEqual(mixedNames, []);
  const otherDirections = seen.bodies.filter((dir) => dir !== 'auto');
  assert.deepEqual(otherDirections, []);
}

/** Checks that the page and its JSON-LD have the title and every root's author and text, unchanged. */
function assertComplete(seen, { roots, title }) {
  const names = new Set(seen.names.map(({ name }) => name));
  const missingNames = roots.map(({ author }) => author.name).filter((name) => !names.has(name));
  assert.deepEqual(missingNames, []);
  const json = seen.scripts[0].text;
  const data = JSON.parse(json);
  assert.equal(data.headline, title);
  assert.equal(data.url, null);
  const texts = new Set(data.comment.map(({ text }) => text));
  const missingTexts = roots.map(({ content }) => content).filter((text) => !texts.has(text));
  assert.deepEqual(missingTexts, []);
  assert.doesNotMatch(json, /[<>&\u2028\u2029]/);
  assert.doesNotMatch(seen.title, /[\u202A-\u202E\u2066-\u2069]/);
}

/** Posts every hostile text as a root, and every fifth also as a reply; the server refuses some. */
async function postHostileTexts(subject) {
  const comments = [];
  for (const [index, text] of HOSTILE_TEXTS.entries()) {
    const token = memberToken(String(1000 + index), text.slice(0, 40));
    const { status, data: root } = await tryPostComment(subject, text, token);
    if (status !== 201) continue;
    comments.push(root);
    if (index % 5 === 0) comments.push(await postComment(subject, text, token, root.id));
  }
  return comments;
}

/** Runs in the page: its direction, what is beyond its sides, and at which side the avatars of roots are. */
function layoutOfPage() {
  const { clientWidth: width } = document.documentElement;
  const { direction } = getComputedStyle(document.querySelector('section.gailou'));
  const all = [...document.querySelectorAll('body *')].filter((node) => !node.closest('pre'));
  const overflowing = all
    .filter((node) => node.checkVisibility())
    .filter((node) => {
      const { left, right } = node.getBoundingClientRect();
      return left < -1 || right > width + 1;
    })
    .map((node) => `${node.localName}.${node.className} ${node.textContent.slice(0, 40)}`);
  const sides = [...document.querySelectorAll('.list > li > article')].map((article) => {
    const { left, right } = article.getBoundingClientRect();
    const avatar = article.querySelector('.avatar').getBoundingClientRect();
    const gap = direction === 'rtl' ? right - avatar.right : avatar.left - left;
    return gap < 1 ? 'start' : 'end';
  });
  return { direction, overflowing, sides: [...new Set(sides)] };
}

/** Opens the page in a new context, and fails when the page fetches anything else. */
async function inspectPage(path, options) {
  const context = await newContext(options);
  try {
    const page = await context.newPage();
    const requests = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(BASE + path);
    const seen = await page.evaluate(inspectDocument);
    const fetched = requests.filter((address) => !address.endsWith('/favicon.ico'));
    assert.equal(fetched.length, 1, 'nothing else is fetched');
    return seen;
  } finally {
    await context.close();
  }
}

const skip = skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET });

describe('comments as HTML', { skip }, () => {
  test('page is readable without JavaScript, and its policy allows no scripts', async () => {
    const answer = await htmlUntil('/t/article/hello', (text) => text.includes('</article>'));
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    const policy = answer.headers.get('content-security-policy');
    assert.match(
      policy,
      /^default-src 'none'; style-src( 'sha256-[\w+/=]+'){2}; base-uri 'none'; form-action 'none'/,
    );
    assert.doesNotMatch(policy, /unsafe|script-src/);
    const context = await newContext({ javaScriptEnabled: false, viewport: DESKTOP });
    const page = await context.newPage();
    const violations = [];
    page.on('console', (message) => violations.push(message.text()));
    await page.goto(`${BASE}/t/article/hello`);
    const articles = page.getByRole('article');
    assert.ok((await articles.count()) > 10);
    const times = page.locator('article time[datetime]');
    assert.equal(await times.count(), await articles.count());
    const controls = page.locator('.controls:visible');
    assert.equal(await controls.count(), 0, 'no empty space for the controls of the element');
    const display = await articles.first().evaluate((node) => getComputedStyle(node).display);
    assert.equal(display, 'grid');
    assert.deepEqual(violations, [], 'the policy allows its own styles');
    await context.close();
  });

  test('links without JavaScript reach every page, and each comment is shown once', async () => {
    const subject = newSubject();
    const token = memberToken('7', 'Ann');
    for (let n = 1; n <= 25; n += 1) await postComment(subject, `number ${n}.`, token);
    let page = await htmlUntil(
      `/t/${subjectPath(subject)}`,
      (text) => text.includes('rel="next"') && text.includes('number 25.'),
    );
    const numbers = [];
    while (page) {
      numbers.push(...[...page.text.matchAll(/<p>number (\d+)\./g)].map((match) => match[1]));
      const next = /rel="next" href="([^"]+)"/.exec(page.text)?.[1].replaceAll('&amp;', '&');
      page = next && (await htmlUntil(next, (text) => text.includes('noindex')));
    }
    assert.equal(numbers.length, 25);
    assert.equal(new Set(numbers).size, 25, 'each once');
  });

  test('page leads to each of its languages, which runs in its direction and fits into 320 px', async () => {
    const context = await newContext({ javaScriptEnabled: false, viewport: NARROWEST });
    const page = await context.newPage();
    await page.goto(`${BASE}/t/topic/building?lang=en`);
    for (const [tag, name] of Object.entries(LANGUAGES)) {
      const menu = page.locator('.languages');
      assert.equal(await menu.locator('a').count(), Object.keys(LANGUAGES).length - 1);
      if (tag !== 'en') {
        await menu.locator('summary').click();
        await menu.getByRole('link', { name, exact: true }).click();
      }
      await page.locator(`html[lang="${tag}"]`).waitFor();
      assert.equal((await menu.locator('summary').textContent()).trim(), name);
      const direction = FROM_RIGHT.includes(tag) ? 'rtl' : 'ltr';
      const seen = await page.evaluate(layoutOfPage);
      assert.deepEqual(seen, { direction, overflowing: [], sides: ['start'] }, tag);
    }
    await context.close();
  });

  test('hostile texts are shown as text', async () => {
    const subject = `article/"><script>window.pwned=1</script>${randomUUID()}`;
    const comments = await postHostileTexts(subject);
    const roots = comments.filter((comment) => !comment.parent_id);
    assert.ok(comments.length > 40, `${comments.length} were taken`);
    const admin = memberToken('1', 'Admin', 'admin');
    for (const [index, title] of HOSTILE_TEXTS.entries()) {
      const url = HOSTILE_ADDRESSES[index % HOSTILE_ADDRESSES.length];
      const path = `/v1/admin/subjects/${subjectPath(subject)}`;
      const put = await call('PUT', path, { body: { title, url }, token: admin });
      // Unit tests check every title; the browser checks some.
      if (put.status !== 200 || index % 8 !== 0) continue;
      await sleep(CACHE_CATCH_UP_MS);
      const whole = `/t/${subjectPath(subject)}?limit=100`;
      for (const [address, options] of [
        [whole, { bypassCSP: true }],
        [whole, {}],
        [`${whole}&fragment=1`, { bypassCSP: true }],
      ]) {
        const seen = await inspectPage(address, options);
        assertHarmless(seen);
        assertComplete(seen, { roots, title });
        if (address === whole) assert.equal(seen.heading, title);
      }
    }
  });

  for (const [name, viewport] of [
    ['desktop', DESKTOP],
    ['phone', PHONE],
  ]) {
    for (const lang of ['en', 'zh', 'ar']) {
      test(`layout does not shift when the element replaces the HTML (${name}, ${lang})`, async () => {
        const subjects = [...DEMO_SUBJECTS, newSubject()];
        // Each subject stands in the element in one language, and beside the script in the other.
        for (const [index, subject] of subjects.entries()) {
          const around = index % 2 === (lang === 'en' ? 0 : 1) ? 'element' : 'script';
          const shifts = await takeOverShifts(subject, { lang, around, viewport });
          assert.deepEqual(shifts, [], `${subject} in the ${around}`);
        }
      });
    }
  }
});

/** A host's page with the server's HTML inside the element, or before the script tag. */
function hostPage(subject, fragment, { lang, around }) {
  const name = subject.replaceAll('"', '&quot;');
  const comments =
    around === 'element'
      ? `<gailou-comments subject="${name}" lang="${lang}">${fragment}</gailou-comments><script src="/gailou.js" async></script>`
      : `${fragment}<script src="/gailou.js" data-subject="${name}" data-lang="${lang}"></script>`;
  return `<!doctype html><html lang="${lang}"><meta charset="utf-8">
    <meta name="viewport" content="width=device-width"><body style="max-width:42rem;margin:1rem auto;padding:0 1rem">
    <h1>A story</h1><p>Its text.</p>${comments}<footer><p>Below the comments</p></footer></body></html>`;
}

/** Runs in the page: collects layout shifts as texts in `window.shifts`. */
function collectShifts() {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      for (const { node, previousRect, currentRect } of entry.sources) {
        const tag = node?.outerHTML?.slice(0, 60);
        window.shifts.push(`${tag} ${previousRect.y} → ${currentRect.y}`);
      }
    }
  }).observe({ type: 'layout-shift', buffered: true });
}

/** The layout shifts of a host's page while the element replaces the served comments. */
async function takeOverShifts(subject, { lang, around, viewport }) {
  const path = `/t/${subjectPath(subject)}?fragment=1&lang=${lang}`;
  const { text: fragment } = await htmlUntil(path, (text) =>
    text.includes('class="gailou embedded"'),
  );
  const body = hostPage(subject, fragment, { lang, around });
  const context = await newContext({ viewport: { ...viewport, height: TALL_PX } });
  try {
    await context.route('**/host', (route) => route.fulfill({ contentType: 'text/html', body }));
    await context.route('**/v1/subjects/**', async (route) => {
      // The browser paints the served comments in this time.
      await sleep(1_500);
      await route.fallback();
    });
    await context.addInitScript(collectShifts);
    const page = await context.newPage();
    await page.goto(`${BASE}/host`);
    const served = page.locator('gailou-comments section.gailou');
    assert.equal(await served.count(), 1, 'shown as it came');
    const footer = page.locator('body > footer');
    const before = await footer.boundingBox();
    await served.waitFor({ state: 'detached', timeout: WAIT_MS });
    await page.waitForTimeout(300);
    const form = page.locator('gailou-comments section form.composer');
    assert.equal(await form.isVisible(), true, 'the element is there');
    assert.deepEqual(await footer.boundingBox(), before);
    return await page.evaluate(() => window.shifts);
  } finally {
    await context.close();
  }
}
