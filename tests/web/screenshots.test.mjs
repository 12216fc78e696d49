// How the element looks: each mode in both themes, on a phone, a tablet and a desktop, in English and Chinese, compared with
// the pictures in screenshots/. `npm run screenshots` draws and accepts those that have changed.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { newContext } from './support/browser.mjs';
import { BASE, ORIGIN, skipWithout, TOKEN_SECRET, WAIT_MS } from './support/environment.mjs';
import { listIsLoaded } from './support/page.mjs';
import { accept, differenceOf, faultOf, readReference } from './support/picture-comparison.mjs';
import { makeThread, NOW, TYPES } from './support/screenshot-threads.mjs';

const MODES = Object.keys(TYPES);
const THEMES = { light: '#fbf8f3', dark: '#171412' };
const LANGUAGES = ['en', 'zh-CN'];
const WIDTHS = [375, 768, 1200];
const MAX_HEIGHT = 1600;
/** So often a page is drawn until two pictures are the same. */
const MAX_DRAWINGS = 10;
const FONTS = {
  '/text/': 'node_modules/@fontsource-variable/noto-sans-sc/',
  '/code/': 'node_modules/@fontsource-variable/jetbrains-mono/',
};

const isAccepting = Boolean(process.env.UPDATE_SCREENSHOTS);
const nameOf = (mode, theme, width, language) => `${mode}-${theme}-${width}-${language}.png`;

/** A blog with fonts of its own: every machine has the same ones. */
const html = (subject, theme, language) => `<!doctype html>
  <html lang="${language}">
  <title>A blog</title>
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="/text/index.css">
  <style>
    @font-face {
      font-family: SFMono-Regular;
      src: url(/code/files/jetbrains-mono-latin-wght-normal.woff2);
    }
    body { margin: 0; background: ${THEMES[theme]} }
    main { max-width: 960px; margin: 0 auto; padding: 16px }
    gailou-comments { --gailou-font: "Noto Sans SC Variable" }
  </style>
  <main><gailou-comments subject="${subject}" api="${ORIGIN}" live="off"></gailou-comments></main>
  <script src="${BASE}/gailou.js"></script>`;

/** Serves the blog and its fonts. */
async function startBlog() {
  const server = createServer((request, answer) => {
    const { pathname, searchParams } = new URL(request.url, 'http://blog');
    const folder = Object.keys(FONTS).find((each) => pathname.startsWith(each));
    if (folder) {
      const file = new URL(
        `../../${FONTS[folder]}${pathname.slice(folder.length)}`,
        import.meta.url,
      );
      answer.setHeader('content-type', pathname.endsWith('.css') ? 'text/css' : 'font/woff2');
      answer.setHeader('cache-control', 'max-age=3600');
      answer.end(readFileSync(file));
    } else if (pathname === '/') {
      const { subject, theme, language } = Object.fromEntries(searchParams);
      answer.setHeader('content-type', 'text/html; charset=utf-8');
      answer.end(html(subject, theme, language));
    } else {
      answer.writeHead(404).end();
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, site: `http://127.0.0.1:${server.address().port}` };
}

/** Waits until fonts and pictures are there, what they change is laid out, and each text that is too long has its button. */
async function isDrawn() {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const root = document.querySelector('gailou-comments').shadowRoot;
  const isWithoutButton = (clip) =>
    clip.scrollHeight > clip.clientHeight + 1 && !clip.classList.contains('cut');
  do {
    await Promise.all([...root.querySelectorAll('img')].map((image) => image.decode()));
    await document.fonts.ready;
    await frame();
  } while (
    document.fonts.status !== 'loaded' ||
    [...root.querySelectorAll('.foldable')].some(isWithoutButton)
  );
  // What keeps the room down to the end of the window is no part of the picture; the padding of the blog is.
  return Math.ceil(root.querySelector('.announcer').getBoundingClientRect().bottom + 16);
}

/** The page as it stays. */
async function draw(page) {
  let last;
  for (let drawings = 0; drawings < MAX_DRAWINGS; drawings += 1) {
    const height = Math.min(MAX_HEIGHT, await page.evaluate(isDrawn));
    const clip = { x: 0, y: 0, width: page.viewportSize().width, height };
    const bytes = await page.screenshot({ clip, animations: 'disabled', caret: 'hide' });
    if (last?.equals(bytes)) return bytes;
    last = bytes;
  }
  return assert.fail(`the page still changes after ${MAX_DRAWINGS} pictures`);
}

/** Calls `change` with the place of each pixel in `data`. */
function changePixels({ width, data }, change) {
  for (let at = 0; at < data.length; at += 4) {
    change(at, (at / 4) % width, Math.floor(at / 4 / width));
  }
}

describe('comparison of pictures', () => {
  const check = (change, isDifferent) => {
    const [changed, reference] = [1, 2].map(() => readReference('flat-light-375-en.png'));
    change(changed);
    assert.equal(differenceOf(changed, reference).isDifferent, isDifferent);
  };

  test('same picture has no difference', () => check(() => {}, false));

  test('letters that are smoothed otherwise are no difference', () =>
    check((png) => {
      changePixels(png, (at, x, y) => {
        const noise = ((x * 7 + y * 3) % 9) - 4;
        for (const part of [at, at + 1, at + 2]) {
          png.data[part] = Math.max(0, Math.min(255, png.data[part] + noise));
        }
      });
    }, false));

  test('badge that is missing or new is found', () =>
    check((png) => {
      changePixels(png, (at, x, y) => {
        const isOnBorder = x === 200 || x === 226 || y === 300 || y === 316;
        if (isOnBorder && x >= 200 && x <= 226 && y >= 300 && y <= 316) {
          png.data.set([166, 58, 31], at);
        }
      });
    }, true));

  test('margin of two pixels is found', () =>
    check((png) => png.data.copyWithin((800 + 2) * png.width * 4, 800 * png.width * 4), true));

  test('text of a lighter colour is found', () =>
    check((png) => {
      changePixels(png, (at) => {
        for (const part of [at, at + 1, at + 2]) if (png.data[part] < 160) png.data[part] += 12;
      });
    }, true));

  test('other height is found', () =>
    check((png) => {
      png.height -= 1;
      png.data = png.data.subarray(0, png.width * png.height * 4);
    }, true));
});

describe('screenshots', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_ORIGIN: ORIGIN, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  const subjects = {};
  let blog;

  before(async () => {
    blog = await startBlog();
    for (const mode of MODES) subjects[mode] = await makeThread(mode);
  });
  after(() => blog?.server.close());

  for (const theme of Object.keys(THEMES)) {
    for (const width of WIDTHS) {
      for (const language of LANGUAGES) {
        describe(`${theme}, ${width} px, ${language}`, () => {
          let page;

          before(async () => {
            const context = await newContext({
              locale: language,
              timezoneId: 'UTC',
              colorScheme: theme,
              reducedMotion: 'reduce',
              viewport: { width, height: MAX_HEIGHT },
              ...(width < 500 && { hasTouch: true, isMobile: true }),
            });
            page = await context.newPage();
            page.setDefaultTimeout(WAIT_MS);
            await page.clock.setFixedTime(NOW);
          });
          after(() => page?.context().close());

          for (const mode of MODES) {
            test(`${mode} looks as accepted`, async () => {
              const query = new URLSearchParams({ subject: subjects[mode], theme, language });
              await page.goto(`${blog.site}/?${query}`);
              await listIsLoaded(page);
              const bytes = await draw(page);
              const name = nameOf(mode, theme, width, language);
              if (isAccepting) accept(name, bytes);
              const fault = faultOf(name, bytes);
              assert.ok(!fault, fault);
            });
          }
        });
      }
    }
  }

  test('every accepted picture is of a page that is drawn', () => {
    const names = MODES.flatMap((mode) =>
      Object.keys(THEMES).flatMap((theme) =>
        WIDTHS.flatMap((width) =>
          LANGUAGES.map((language) => nameOf(mode, theme, width, language)),
        ),
      ),
    );
    const files = readdirSync(new URL('screenshots/', import.meta.url));
    assert.deepEqual(files.filter((name) => name.endsWith('.png')).sort(), names.sort());
  });
});
