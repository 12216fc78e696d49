// The element in each of its languages: its texts, its direction, and what a reader sees until they are loaded.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { newContext } from './support/browser.mjs';
import { BASE, skipWithout } from './support/environment.mjs';
import { comments, listIsLoaded, mainForm, openPage, withPage } from './support/page.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
/** What WCAG 1.4.10 asks for. */
const NARROWEST = { width: 320, height: 800 };
/** The word on the button of each language's reply. */
const REPLY = {
  en: 'Reply',
  'zh-CN': '回复',
  'zh-TW': '回覆',
  ja: '返信',
  ko: '답글',
  de: 'Antworten',
  fr: 'Répondre',
  es: 'Responder',
  'pt-BR': 'Responder',
  ru: 'Ответить',
  ar: 'رد',
  he: 'מענה',
};
const FROM_RIGHT = ['ar', 'he'];
const SUBJECTS = ['article/hello', 'topic/building'];
/** The same in a building, where it is another word. */
const BUILDING_REPLY = { 'zh-CN': '盖楼', 'zh-TW': '蓋樓', he: 'תגובה' };

const element = (page) => page.locator('gailou-comments');
const section = (page) =>
  page.locator('gailou-comments > section, gailou-comments section').first();

/** The sides of the window that something of the element is beyond. */
function overflowing() {
  const { shadowRoot } = document.querySelector('gailou-comments');
  const width = document.documentElement.clientWidth;
  return [...shadowRoot.querySelectorAll('*')]
    .filter((node) => node.checkVisibility() && !node.closest('.sr, pre'))
    .filter((node) => {
      const { left, right } = node.getBoundingClientRect();
      return left < -1 || right > width + 1;
    })
    .map((node) => `${node.localName}.${node.className} ${node.textContent.slice(0, 40)}`);
}

/** So many pixels more than its field has the example in it is wide. */
function cutPixels(input) {
  const style = getComputedStyle(input);
  const context = document.createElement('canvas').getContext('2d');
  context.font = style.font;
  const room =
    input.clientWidth -
    Number.parseFloat(style.paddingLeft) -
    Number.parseFloat(style.paddingRight);
  return context.measureText(input.placeholder).width - room;
}

/** Runs `steps` on the demo page, whose element speaks the language. */
const inLanguage = (lang, subject, options, steps) =>
  withPage(subject, { lang, ...options }, async (page) => {
    await comments(page).first().waitFor();
    await steps(page);
  });

describe('languages', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  for (const subject of SUBJECTS) {
    test(`${subject}: each language speaks, runs in its direction, and fits into 320 px`, async () => {
      await inLanguage('en', subject, { viewport: NARROWEST }, async (page) => {
        for (const [lang, reply] of Object.entries(REPLY)) {
          await element(page).evaluate((node, tag) => node.setAttribute('lang', tag), lang);
          await page.locator(`gailou-comments section[lang="${lang}"]`).waitFor();
          await comments(page).first().waitFor();
          const direction = await section(page).evaluate(
            (node) => getComputedStyle(node).direction,
          );
          assert.equal(direction, FROM_RIGHT.includes(lang) ? 'rtl' : 'ltr', lang);
          const button = element(page).locator('.act.reply').first();
          const word = (subject === 'topic/building' && BUILDING_REPLY[lang]) || reply;
          assert.equal((await button.textContent()).trim(), word);
          await button.click();
          await element(page).locator('form.composer textarea').nth(1).waitFor();
          assert.deepEqual(await page.evaluate(overflowing), [], lang);
        }
      });
    });
  }

  for (const width of [320, 375, 420]) {
    test(`the example of a name is read as a whole at ${width} px`, async () => {
      await inLanguage('en', SUBJECTS[0], { viewport: { width, height: 800 } }, async (page) => {
        for (const lang of Object.keys(REPLY)) {
          await element(page).evaluate((node, tag) => node.setAttribute('lang', tag), lang);
          await page.locator(`gailou-comments section[lang="${lang}"]`).waitFor();
          await mainForm(page).locator('textarea').focus();
          const input = mainForm(page).locator('.name input');
          await input.waitFor();
          const cut = await input.evaluate(cutPixels);
          assert.ok(cut <= 0, `${lang}: ${cut}`);
        }
      });
    });
  }

  for (const lang of ['ar', 'ja']) {
    test(`${lang}: axe finds nothing`, async () => {
      await inLanguage(lang, 'article/hello', {}, async (page) => {
        await element(page).locator('.act.reply').first().click();
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => window.axe.run('gailou-comments'));
        assert.deepEqual(
          violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
          [],
        );
      });
    });
  }

  test('the language is that of the element, of what it is in, or of the browser', async () => {
    const context = await newContext({ locale: 'pt-PT' });
    try {
      const page = await context.newPage();
      const tagOf = async (html) => {
        await page.route('**/host.html', (route) =>
          route.fulfill({ contentType: 'text/html', body: `<!doctype html>${html}` }),
        );
        await page.goto(`${BASE}/host.html`);
        await listIsLoaded(page);
        return section(page).getAttribute('lang');
      };
      const script = '<script src="/gailou.js"></script>';
      const comments = '<gailou-comments subject="article/hello"></gailou-comments>';
      assert.equal(
        await tagOf(`<html lang="de-AT">${comments.replace(' ', ' lang="fr-CA" ')}${script}`),
        'fr',
      );
      assert.equal(await tagOf(`<html lang="de-AT">${comments}${script}`), 'de');
      assert.equal(
        await tagOf(`<html lang="de"><div lang="zh-HK">${comments}</div>${script}`),
        'zh-TW',
      );
      assert.equal(await tagOf(`<html>${comments}${script}`), 'pt-BR');
    } finally {
      await context.close();
    }
  });

  test('nothing is in English while another language is on its way', async () => {
    const context = await newContext();
    try {
      let release;
      const isReleased = new Promise((resolve) => {
        release = resolve;
      });
      let isAsked;
      const asked = new Promise((resolve) => {
        isAsked = resolve;
      });
      await context.route('**/gailou/de-*.js', async (route) => {
        isAsked();
        await isReleased;
        await route.continue();
      });
      const page = await openPage(context, 'article/hello', { lang: 'de' });
      await asked;
      await page.waitForFunction(() => customElements.get('gailou-comments'));
      const text = await element(page).evaluate((node) => node.shadowRoot.textContent);
      assert.equal(text.trim(), '');
      release();
      await listIsLoaded(page);
      await page.getByRole('button', { name: 'Neueste' }).waitFor();
    } finally {
      await context.close();
    }
  });

  test('language that cannot be loaded is English', async () => {
    const prepare = (context) => context.route('**/gailou/ko-*.js', (route) => route.abort());
    await inLanguage('ko', 'article/hello', { prepare }, async (page) => {
      assert.equal(await section(page).getAttribute('lang'), 'en');
      await page.getByRole('button', { name: 'Reply' }).first().waitFor();
    });
  });
});
