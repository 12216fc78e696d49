// The element on pages that have fonts and colours of their own: the same sizes, and enough contrast, whatever the page and
// the reader's system are.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { BASE, skipWithout } from './support/environment.mjs';
import { withHostPage } from './support/host-page.mjs';
import { lowContrast } from './support/inspect.mjs';
import { comments, mainForm, openForm } from './support/page.mjs';

const COLOR_SCHEMES = ['light', 'dark'];
const ROOT_FONTS = [10, 16, 20];
const MAX_DIFFERENCE_PX = 0.5;
const PAGE_COLORS = { light: 'background:#fff;color:#222', dark: 'background:#111;color:#eee' };

/** What a page may do to all of its text. */
const RUDE_STYLE =
  'letter-spacing:2px;text-transform:uppercase;text-align:center;line-height:3;font-style:italic';

const html = ({ root = 16, style = '', head = '', attributes = '' }) => `
  <title>A site</title>${head}
  <style>html{font-size:${root}px} body{font-family:serif;${RUDE_STYLE};${style}}</style>
  <gailou-comments subject="article/hello" lang="en" ${attributes}></gailou-comments>
  <script src="/gailou.js"></script>`;

/** Opens a form, so that it is measured too. */
async function isWhole(page) {
  await comments(page).first().waitFor();
  await openForm(mainForm(page));
}

/** The font size, the line height, the width and the height of everything that a reader sees first. */
function sizes() {
  const root = document.querySelector('gailou-comments').shadowRoot;
  const seen = {};
  for (const selector of [
    ...['h2', '.sorts button', '.sorts select', '.composer textarea', '.composer .button'],
    ...['.composer .name input', '.composer .name label', '.avatar', '.author', '.badge', '.when'],
    ...['.floor', '.act', '.act svg', '.more-replies'],
  ]) {
    const node = root.querySelector(selector);
    const { fontSize, lineHeight, textAlign, textTransform, letterSpacing, fontStyle } =
      getComputedStyle(node);
    const { height } = node.getBoundingClientRect();
    const numbers = [fontSize, lineHeight, height].map(Number.parseFloat);
    seen[selector] = { numbers, words: [textAlign, textTransform, letterSpacing, fontStyle] };
  }
  return seen;
}

const isDark = (page) =>
  page.locator('gailou-comments').evaluate((node) => getComputedStyle(node).colorScheme === 'dark');

describe('host page', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  let expected;

  before(async () => {
    await withHostPage({ html: html({ style: PAGE_COLORS.light }) }, async (page) => {
      await isWhole(page);
      expected = await page.evaluate(sizes);
    });
  });

  for (const root of ROOT_FONTS) {
    for (const pageScheme of COLOR_SCHEMES) {
      for (const colorScheme of COLOR_SCHEMES) {
        test(`of ${root} px, ${pageScheme}, in a ${colorScheme} system`, async () => {
          const style = PAGE_COLORS[pageScheme];
          await withHostPage({ html: html({ root, style }), colorScheme }, async (page) => {
            await isWhole(page);
            assert.equal(await isDark(page), pageScheme === 'dark');
            const seen = await page.evaluate(sizes);
            for (const [selector, { numbers, words }] of Object.entries(expected)) {
              for (const [at, number] of numbers.entries()) {
                const difference = Math.abs(seen[selector].numbers[at] - number);
                assert.ok(
                  !(difference > MAX_DIFFERENCE_PX),
                  `${selector}: ${seen[selector].numbers} instead of ${numbers}`,
                );
              }
              assert.deepEqual(seen[selector].words, words, selector);
            }
            assert.deepEqual(await page.evaluate(lowContrast), []);
          });
        });
      }
    }
  }

  test('of any plain colour leaves enough contrast', async () => {
    for (const color of [
      '#fdf6e3',
      '#002b36',
      '#0d1117',
      '#2b2b2b',
      '#f0f0f0',
      'oklch(0.3 0.1 280)',
    ]) {
      await withHostPage({ html: html({ style: `background:${color}` }) }, async (page) => {
        await isWhole(page);
        assert.deepEqual(await page.evaluate(lowContrast), [], color);
      });
    }
  });

  for (const [what, style, head, scheme, dark] of [
    ['that declares nothing is light', '', '', 'dark', false],
    ['that declares both follows the system', 'color-scheme:light dark', '', 'dark', true],
    [
      'that declares both in its head follows the system',
      '',
      '<meta name="color-scheme" content="light dark">',
      'dark',
      true,
    ],
    ['that declares dark is dark', 'color-scheme:dark', '', 'light', true],
    [
      'with a picture behind light text is dark',
      'color:#fff;background:linear-gradient(#000,#123)',
      '',
      'light',
      true,
    ],
  ]) {
    test(what, async () => {
      await withHostPage({ html: html({ style, head }), colorScheme: scheme }, async (page) => {
        await page.evaluate(() => customElements.whenDefined('gailou-comments'));
        assert.equal(await isDark(page), dark);
      });
    });
  }

  test('that switches its colours is followed, also when they fade', async () => {
    const head = `<style>
      body { background: #fff; color: #222; transition: background-color 300ms }
      html[data-theme="dark"] body, body.night { background: #111; color: #eee }
    </style>`;
    await withHostPage({ html: html({ head }) }, async (page) => {
      await page.evaluate(() => customElements.whenDefined('gailou-comments'));
      const becomes = (dark) =>
        page.waitForFunction(
          (wanted) =>
            (getComputedStyle(document.querySelector('gailou-comments')).colorScheme === 'dark') ===
            wanted,
          dark,
        );
      await becomes(false);
      await page.evaluate(() => document.documentElement.setAttribute('data-theme', 'dark'));
      await becomes(true);
      await page.evaluate(() => document.documentElement.removeAttribute('data-theme'));
      await becomes(false);
      await page.evaluate(() => document.body.classList.add('night'));
      await becomes(true);
    });
  });

  test('may force a theme, set four colours and the size, and style parts', async () => {
    const head = `<style>
      gailou-comments { --gailou-accent: rgb(0, 90, 160); --gailou-size: 20px }
      gailou-comments::part(author) { text-decoration: underline }
    </style>`;
    const page = html({ head, style: PAGE_COLORS.light, attributes: 'theme="dark"' });
    await withHostPage({ html: page }, async (opened) => {
      await isWhole(opened);
      assert.equal(await isDark(opened), true);
      const seen = await opened.evaluate(() => {
        const root = document.querySelector('gailou-comments').shadowRoot;
        const style = (selector) => getComputedStyle(root.querySelector(selector));
        return [
          style('.button.primary').backgroundColor,
          style('.body').fontSize,
          style('.author').textDecorationLine,
        ];
      });
      assert.deepEqual(seen, ['rgb(0, 90, 160)', '20px', 'underline']);
    });
  });

  test('finds every part that the document names', async () => {
    await withHostPage({ html: html({ style: PAGE_COLORS.light }) }, async (page) => {
      await isWhole(page);
      const parts = await page.evaluate(() => [
        ...new Set(
          [...document.querySelector('gailou-comments').shadowRoot.querySelectorAll('[part]')].map(
            (node) => node.part.value,
          ),
        ),
      ]);
      for (const name of [
        ...['header', 'composer', 'input', 'toolbar', 'button', 'comment', 'author', 'body'],
        ...['actions', 'floor', 'seal', 'notice'],
      ]) {
        assert.ok(parts.includes(name), name);
      }
    });
  });
});
