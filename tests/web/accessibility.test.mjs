// Accessibility of the page: names of controls, contrast, the keyboard, a phone.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newSubject } from './support/api.mjs';
import { BASE, DEMO_SUBJECTS, PHONE, skipWithout } from './support/environment.mjs';
import {
  focusedElement,
  lowContrast,
  namelessControls,
  structureFaults,
} from './support/inspect.mjs';
import { assertAttribute, assertVisible, comments, newText, withPage } from './support/page.mjs';

const MAX_TAB_PRESSES = 60;

/** Presses Tab until the focused element matches. */
async function tabTo(page, pattern) {
  for (let presses = 0; presses < MAX_TAB_PRESSES; presses += 1) {
    await page.keyboard.press('Tab');
    if (pattern.test(await page.evaluate(focusedElement))) return;
  }
  assert.fail(`nothing like ${pattern} can be reached with the Tab key`);
}

describe('accessibility', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('keyboard alone is enough to post, like and reply', async () => {
    const [text, answer] = [newText('By keyboard'), newText('Answer')];
    await withPage(newSubject(), {}, async (page) => {
      await tabTo(page, /^INPUT .*name-/);
      await page.keyboard.type('Keyboard guest');
      await tabTo(page, /^TEXTAREA/);
      await page.keyboard.type(text);
      await tabTo(page, /^BUTTON .*primary/);
      await page.keyboard.press('Enter');
      const acknowledged = page.locator('article[data-id]:not([data-id^="sending"])');
      const comment = acknowledged.filter({ hasText: text });
      await assertVisible(comment, 'posted');
      await tabTo(page, /^BUTTON act like/);
      await page.keyboard.press('Space');
      await assertAttribute(comment.locator('.act.like'), 'aria-pressed', 'true');
      await tabTo(page, /^BUTTON act reply/);
      await page.keyboard.press('Enter');
      await page.keyboard.type(answer);
      await page.keyboard.press('Control+Enter');
      const reply = page.locator('.replies article').filter({ hasText: answer });
      await assertVisible(reply, 'the reply');
    });
  });

  test('every control has a name, every reference has a target', async () => {
    await withPage('article/hello', {}, async (page) => {
      await page.locator('.list .act.reply').first().click();
      assert.deepEqual(await page.evaluate(namelessControls), []);
      assert.deepEqual(await page.evaluate(structureFaults), {
        doubledIds: [],
        danglingReferences: [],
        imagesWithoutAlt: 0,
        liveRegions: 1,
        timesWithoutDate: 0,
      });
    });
  });

  for (const colorScheme of ['light', 'dark']) {
    test(`text has enough contrast (${colorScheme})`, async () => {
      await withPage('article/hello', { colorScheme }, async (page) => {
        await comments(page).first().waitFor();
        assert.deepEqual(await page.evaluate(lowContrast), []);
      });
    });
  }

  for (const subject of DEMO_SUBJECTS) {
    test(`${subject} has no horizontal scroll on a phone`, async () => {
      await withPage(subject, { viewport: PHONE, lang: 'zh' }, async (page) => {
        await comments(page).first().waitFor();
        const more = page.locator('.more-replies:visible');
        if ((await more.count()) > 0) {
          await more.evaluateAll((buttons) => {
            for (const button of buttons) button.click();
          });
          await assertVisible(page.locator('[aria-live]').filter({ hasText: /\d/ }), 'replies');
        }
        const { scroll, client } = await page.evaluate(() => ({
          scroll: document.documentElement.scrollWidth,
          client: document.documentElement.clientWidth,
        }));
        assert.ok(scroll <= client, `${scroll} > ${client}`);
      });
    });
  }
});
