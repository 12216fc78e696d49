// What a page loads before its reader uses anything, and what is loaded then.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { guestToken, listWithRoots, newSubject, postComment } from './support/api.mjs';
import { BASE, skipWithout } from './support/environment.mjs';
import { withHostPage } from './support/host-page.mjs';
import { comments, listIsLoaded, mainForm } from './support/page.mjs';

/** As in edge/web/build.mjs. */
const MAX_FIRST_BYTES = 16_000;
const SETTLE_MS = 1_000;
/** A browser paints in this time. */
const PAINT_MS = 200;
/** The slow 4G of Lighthouse: a round trip, and what comes in a millisecond. */
const ROUND_TRIP_MS = 150;
const BYTES_PER_MS = 1_638.4 / 8;
/** A phone's processor is so much slower than that of the machine of the tests. */
const SLOWNESS = 4;
const MAX_FIRST_COMMENT_MS = 1_200;

/** As the review of the page asks, in the units of browsers. */
const MAX_LAYOUT_SHIFT = 0.01;
const WINDOWS = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
/** What the README says to put on a page. */
const [, SNIPPET] = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').match(
  /```html\n(<gailou-comments [^`]+)```/,
);

/** A page of a blog with a footer right below the comments. */
const blog = (subject, lang, paragraphs) => `<meta name="viewport" content="width=device-width">
  <title>A blog</title><body lang="${lang}"
    style="max-width: 42rem; margin: 0 auto; padding: 0 1rem; font: 1rem/1.5 sans-serif">
  <h1>A story</h1>${`<p>${'It has a few words. '.repeat(12)}</p>`.repeat(paragraphs)}
  ${SNIPPET.replace('https://comments.example', '').replace('article/hello', subject)}
  <footer><p style="margin: 0">${'What stands below the comments. '.repeat(6)}</p></footer>`;

/** Runs in the page: adds up what moves without an act of the reader, as browsers count it. */
function countLayoutShift() {
  window.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (!entry.hadRecentInput) window.layoutShift += entry.value;
    }
  }).observe({ type: 'layout-shift', buffered: true });
}

/** Opens the blog where script and comments take their time; gives the heights, and the layout shift. */
async function openBlog({ subject, lang = 'en', viewport, paragraphs = 1 }) {
  let measured;
  await withHostPage({ html: '<title>A site</title>', viewport }, async (page) => {
    const context = page.context();
    const late = async (route) => {
      await page.waitForTimeout(PAINT_MS);
      await route.fallback();
    };
    for (const address of ['**/gailou.js', '**/v1/subjects/**']) await context.route(address, late);
    await context.addInitScript(countLayoutShift);
    const body = `<!doctype html>${blog(subject, lang, paragraphs)}`;
    await context.route('**/blog', (route) => route.fulfill({ contentType: 'text/html', body }));
    await page.goto(`${BASE}/blog`);
    await listIsLoaded(page);
    await page.waitForTimeout(SETTLE_MS);
    measured = await page.evaluate(() => {
      const { shadowRoot } = document.querySelector('gailou-comments');
      const [end, start] = [
        shadowRoot.querySelector('.announcer'),
        document.querySelector('footer'),
      ].map((node) => node.getBoundingClientRect());
      return {
        room: start.top - end.bottom,
        footerTop: start.top,
        shift: window.layoutShift,
      };
    });
  });
  return measured;
}

const html = (subject, lang, live) => `<title>A site</title>
  <gailou-comments subject="${subject}" lang="${lang}" live="${live}"></gailou-comments>
  <script src="/gailou.js"></script>`;

/** `gailou/chunk-ABC.js` → `gailou/chunk`; the first page of comments is `data`. */
function nameOf(url) {
  const { pathname } = new URL(url);
  if (/\/comments$/.test(pathname)) return 'data';
  return pathname.slice(1).replace(/-[A-Z0-9]{8}\.js$/, '');
}

/** Runs `steps` on a page that has settled; they get what was asked for since the last call. */
async function withRequests({ subject = 'article/hello', lang = 'en', live = 'off' }, steps) {
  await withHostPage({ html: '<title>A site</title>' }, async (page) => {
    let asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.setContent(html(subject, lang, live));
    await comments(page).first().waitFor();
    await page.waitForTimeout(SETTLE_MS);
    const take = async () => {
      await page.waitForTimeout(SETTLE_MS);
      const urls = asked.filter((url) => !/favicon/.test(url));
      asked = [];
      return urls;
    };
    await steps(page, take);
  });
}

describe('loading', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test(`first comment needs two files of less than ${MAX_FIRST_BYTES} bytes, and one request for the data`, async () => {
    const subject = newSubject();
    await postComment(subject, 'A comment in English', await guestToken());
    await listWithRoots(subject, 1);
    await withRequests({ subject }, async (_page, take) => {
      const urls = await take();
      assert.deepEqual(urls.map(nameOf).sort(), ['data', 'gailou.js', 'gailou/chunk']);
      let size = 0;
      for (const url of urls.filter((each) => /\.js$/.test(each))) {
        const answer = await fetch(url);
        assert.equal(answer.headers.get('access-control-allow-origin'), '*');
        const isHashed = /gailou\//.test(url);
        assert.match(
          answer.headers.get('cache-control'),
          isHashed ? /max-age=31536000, immutable/ : /max-age=300, stale-while-revalidate=86400/,
        );
        size += gzipSync(Buffer.from(await answer.arrayBuffer()), { level: 9 }).length;
      }
      assert.ok(size <= MAX_FIRST_BYTES, `${size} bytes`);
    });
  });

  test(`first comment is drawn ${MAX_FIRST_COMMENT_MS} ms after its page was opened, on a slow phone with slow 4G`, async (t) => {
    const subject = 'article/hello';
    await withHostPage({ html: html(subject, 'en', 'off') }, async (page) => {
      await comments(page).first().waitFor();
      const devtools = await page.context().newCDPSession(page);
      // The time of the thread: other programs of the machine take none of it.
      await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
      await page.reload();
      await comments(page).first().waitFor();
      const { metrics } = await devtools.send('Performance.getMetrics');
      const taskMs = 1_000 * metrics.find(({ name }) => name === 'TaskDuration').value;
      const entries = await page.evaluate(() =>
        performance.getEntriesByType('resource').map((entry) => entry.toJSON()),
      );
      // What the comments ask for in turn is not needed to draw them.
      const arrivedAt = entries.find(({ name }) => nameOf(name) === 'data').responseEnd;
      const first = entries
        .filter(({ startTime }) => startTime < arrivedAt)
        .map(({ name }) => name);
      assert.deepEqual(first.map(nameOf).sort(), ['data', 'gailou.js', 'gailou/chunk']);
      const bodies = await Promise.all(first.map(async (url) => (await fetch(url)).arrayBuffer()));
      const bytes = bodies.reduce((sum, body) => sum + gzipSync(Buffer.from(body)).length, 0);
      // The page, the script, and the element beside the data; connections are open.
      const ms = 3 * ROUND_TRIP_MS + bytes / BYTES_PER_MS + SLOWNESS * taskMs;
      t.diagnostic(`${Math.round(ms)} ms: ${bytes} bytes, ${Math.round(taskMs)} ms of the thread`);
      assert.ok(ms <= MAX_FIRST_COMMENT_MS, `${ms} ms`);
    });
  });

  test('data is asked for while the element is on its way, and once', async () => {
    await withRequests({}, async (page, take) => {
      const urls = await take();
      const [data, ...others] = urls.filter((url) => nameOf(url) === 'data');
      assert.equal(others.length, 0);
      assert.match(data, /\?sort=hot&limit=20&view=compact$/);
      const isEarly = await page.evaluate(() => {
        const all = performance.getEntriesByType('resource');
        const data = all.find(({ name }) => /\/comments\?/.test(name));
        const element = all.find(({ name }) => /\/gailou\/chunk-/.test(name));
        return data.startTime < element.responseEnd;
      });
      assert.ok(isEarly);
    });
  });

  test('forms are loaded when one is used, and once', async () => {
    await withRequests({}, async (page, take) => {
      await take();
      await mainForm(page).locator('textarea').focus();
      await mainForm(page).getByRole('toolbar', { name: 'Formatting' }).waitFor();
      const names = (await take()).map(nameOf);
      for (const name of ['gailou/forms', 'gailou/tools', 'gailou/writing', 'gailou/used-parts']) {
        assert.ok(names.includes(name), `${name} is among ${names}`);
      }
      const later = ['emoji-picker', 'search', 'turnstile', 'altcha', 'live'];
      for (const name of later.map((each) => `gailou/${each}`)) {
        assert.ok(!names.includes(name), name);
      }
      await comments(page).first().locator('.act.reply').click();
      await comments(page).first().locator('form textarea').waitFor();
      assert.deepEqual((await take()).map(nameOf), [], 'nothing is loaded twice');
    });
  });

  test('Chinese and live updates are files of their own', async () => {
    await withRequests({ lang: 'zh', live: 'on' }, async (_page, take) => {
      const names = [];
      const areThere = () => names.includes('gailou/zh') && names.includes('gailou/live');
      for (let tries = 0; tries < 10 && !areThere(); tries += 1) {
        names.push(...(await take()).map(nameOf));
      }
      assert.ok(areThere(), `${names}`);
      assert.ok(!names.includes('gailou/forms'), `${names}`);
    });
  });

  test('press waits for what acts, and says so at the comment where that cannot be loaded', async () => {
    const subject = newSubject();
    await postComment(subject, 'A comment to like', await guestToken());
    await listWithRoots(subject, 1);
    await withHostPage({ html: '<title>A site</title>' }, async (page) => {
      let isReachable = false;
      await page.route('**/gailou/later-parts-*.js', async (route) => {
        await page.waitForTimeout(SETTLE_MS);
        await (isReachable ? route.continue() : route.abort());
      });
      await page.setContent(html(subject, 'en', 'off'));
      const comment = comments(page).first();
      await comment.waitFor();
      const like = comment.locator('.act.like');
      await like.click();
      await comment.getByRole('alert').getByText('did not answer').waitFor();
      assert.match(await comment.locator('.body').textContent(), /A comment to like/);
      isReachable = true;
      await like.click();
      await comment.locator('.act.like[aria-pressed="true"]').waitFor();
      assert.equal(await comment.getByRole('alert').count(), 0, 'the sentence is gone');
    });
  });

  test('older copy of the script finds the element', async () => {
    const script = await (await fetch(`${BASE}/gailou.js`)).text();
    const older = script.replace(/gailou\/chunk-[A-Z0-9]{8}\.js/, 'gailou/chunk-AAAAAAAA.js');
    assert.notEqual(older, script);
    const page = html('article/hello', 'en', 'off').replace('/gailou.js', '/older.js');
    await withHostPage({ html: page, scripts: { 'older.js': older } }, async (opened) => {
      await comments(opened).first().waitFor();
    });
  });

  for (const [name, viewport] of Object.entries(WINDOWS)) {
    test(`nothing moves when the comments come (${name})`, async (t) => {
      for (const [count, lang] of [
        [0, 'en'],
        [1, 'de'],
        [3, 'zh'],
        [12, 'en'],
      ]) {
        const subject = newSubject();
        const token = await guestToken();
        for (let n = 0; n < count; n += 1) {
          await postComment(subject, `Comment ${n}, and a few more words of it`, token);
        }
        if (count > 0) await listWithRoots(subject, count);
        const { room, footerTop, shift } = await openBlog({ subject, lang, viewport });
        t.diagnostic(`${count} comments (${lang}): ${shift.toFixed(4)}`);
        assert.ok(shift <= MAX_LAYOUT_SHIFT, `${count} comments move the page by ${shift}`);
        assert.ok(footerTop >= viewport.height - 1, 'the footer came into the window');
        if (count === 12) assert.equal(room, 0, 'the footer follows the last comment');
        const below = await openBlog({ subject, lang, viewport, paragraphs: 9 });
        assert.deepEqual([below.room, below.shift], [0, 0], 'below the window no room is kept');
      }
    });
  }

  test('frame that is made as high as the page in it does not grow without end', async () => {
    const subject = newSubject();
    await postComment(subject, 'The only comment', await guestToken());
    await listWithRoots(subject, 1);
    const body = `<!doctype html><title>In a frame</title><h1>A story</h1>${html(subject, 'en', 'off')}`;
    await withHostPage({ html: '<title>A site</title><iframe></iframe>' }, async (page) => {
      await page.route('**/v1/subjects/**', async (route) => {
        await page.waitForTimeout(SETTLE_MS);
        await route.fallback();
      });
      await page.route('**/framed', (route) => route.fulfill({ contentType: 'text/html', body }));
      await page.evaluate(() => {
        const frame = document.querySelector('iframe');
        frame.src = '/framed';
        setInterval(() => {
          const page = frame.contentDocument?.documentElement;
          if (page) frame.height = page.scrollHeight;
        }, 20);
      });
      const framed = page.frameLocator('iframe');
      await comments(framed).first().waitFor();
      await page.waitForTimeout(SETTLE_MS);
      const height = await page.locator('iframe').evaluate((frame) => frame.offsetHeight);
      assert.ok(height < 800, `${height} px`);
    });
  });
});
