// Accessibility of the page: names of controls, contrast, the keyboard, a phone.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  call,
  guestToken,
  listWithRoots,
  newSubject,
  postComment,
  subjectPath,
} from './support/api.mjs';
import { violations } from './support/console.mjs';
import { BASE, DEMO_SUBJECTS, PHONE, skipWithout } from './support/environment.mjs';
import {
  focusedElement,
  lowContrast,
  namelessControls,
  smallControls,
  structureFaults,
} from './support/inspect.mjs';
import {
  assertAttribute,
  assertVisible,
  comments,
  mainForm,
  newText,
  openForm,
  usedPartsRun,
  withPage,
} from './support/page.mjs';

const MAX_TAB_PRESSES = 60;

/** Presses Tab until the focused element matches. */
async function tabTo(page, pattern) {
  for (let presses = 0; presses < MAX_TAB_PRESSES; presses += 1) {
    await page.keyboard.press('Tab');
    if (pattern.test(await page.evaluate(focusedElement))) return;
  }
  assert.fail(`nothing like ${pattern} can be reached with the Tab key`);
}

const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

/** A building, a comment with a picture and code, and a floor that the list does not show. */
async function subjectToOpen() {
  const subject = newSubject('topic');
  const token = await guestToken('Builder');
  const body = new FormData();
  body.set('alt', 'A red pixel');
  body.set('file', new Blob([PICTURE], { type: 'image/png' }), 'one.png');
  const headers = { Authorization: `Bearer ${token}` };
  const uploaded = await fetch(`${BASE}/v1/media`, { method: 'POST', headers, body });
  const { id } = await uploaded.json();
  const content = 'With a picture\n\n```rust\nfn main() {}\n```';
  const path = `/v1/subjects/${subjectPath(subject)}/comments`;
  await call('POST', path, { body: { content, media: [id] }, token });
  const chain = [];
  while (chain.length < 8) {
    const writer = await guestToken(`Writer ${chain.length}`);
    chain.push(await postComment(subject, `floor ${chain.length}`, writer, chain.at(-1)?.id));
  }
  const { data } = await listWithRoots(subject, 2);
  const shown = new Set(
    data.flatMap(({ top_replies }) => top_replies ?? []).map((each) => each.id),
  );
  return { subject, hidden: chain.slice(2).find((each) => !shown.has(each.id)) };
}

/** What opens in a thread, and how; Esc closes it, except for the first two. */
const OPENED = {
  'linked panel': (page) => page.locator('.linked .fl').first().waitFor(),
  'bar of a floor': async (page) => {
    await page.locator('.linked .number').first().click();
    await page.locator('.linked .floor-actions').waitFor();
  },
  menu: async (page) => {
    await page.locator('.list .more').first().click();
    await page.getByRole('menu').waitFor();
  },
  card: async (page) => {
    await page.locator('.list .author').first().click();
    await page.locator('.profile ol:not([aria-busy])').waitFor();
  },
  report: async (page) => {
    await page.locator('.list .more').first().click();
    await page.getByRole('menuitem', { name: 'Report' }).click();
    await page.locator('dialog.dialog').waitFor();
  },
  lightbox: async (page) => {
    await usedPartsRun(page);
    await page.locator('.media a').first().click();
    await page.locator('.lightbox').waitFor();
  },
  search: async (page) => {
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('searchbox').fill('picture');
    await page.locator('.found a').first().waitFor();
  },
  emoji: async (page) => {
    await openForm(mainForm(page));
    await mainForm(page).getByRole('button', { name: 'Emoji' }).click();
    await page.locator('.emoji-row button').first().waitFor();
  },
  preview: async (page) => {
    await mainForm(page).locator('textarea').fill('**text** with `code`');
    await mainForm(page).getByRole('tab', { name: 'Preview' }).click();
    await mainForm(page).locator('.preview .body').waitFor();
  },
};

describe('accessibility', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('keyboard alone is enough to post, like and reply', async () => {
    const [text, answer] = [newText('By keyboard'), newText('Answer')];
    await withPage(newSubject(), {}, async (page) => {
      await tabTo(page, /^TEXTAREA/);
      await page.keyboard.type(text);
      await page.getByRole('button', { name: 'Post', exact: true }).waitFor();
      await tabTo(page, /^INPUT .*name-/);
      await page.keyboard.type('Keyboard guest');
      await tabTo(page, /^BUTTON .*primary/);
      await page.keyboard.press('Enter');
      const acknowledged = page.locator('article[data-id]:not([data-id^="sending"])');
      const comment = acknowledged.filter({ hasText: text });
      await assertVisible(comment, 'posted');
      await tabTo(page, /^BUTTON like act/);
      await page.keyboard.press('Space');
      await assertAttribute(comment.locator('.act.like'), 'aria-pressed', 'true');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      assert.match(await page.evaluate(focusedElement), /^BUTTON reply act/);
      await page.keyboard.press('Enter');
      await comment.locator('form textarea').waitFor();
      await page.keyboard.type(answer);
      await page.keyboard.press('Control+Enter');
      const reply = page.locator('.replies article').filter({ hasText: answer });
      await assertVisible(reply, 'the reply');
    });
  });

  test('every control has a name, every reference has a target', async () => {
    await withPage('article/hello', {}, async (page) => {
      await page.locator('.list .act.reply').first().click();
      await page.locator('.list form textarea').waitFor();
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

  for (const colorScheme of ['light', 'dark']) {
    for (const forcedColors of ['none', 'active']) {
      test(`axe finds nothing (${colorScheme}, forced colours: ${forcedColors})`, async () => {
        await withPage('article/hello', { colorScheme, forcedColors }, async (page) => {
          await openForm(mainForm(page));
          await comments(page).first().locator('.act.reply').click();
          await comments(page).first().locator('form textarea').waitFor();
          assert.deepEqual(await violations(page), []);
        });
      });
    }
  }

  test('selected sort is visible in forced colours', async () => {
    await withPage('article/hello', { forcedColors: 'active' }, async (page) => {
      const borders = await page
        .locator('.sorts button')
        .evaluateAll((buttons) =>
          buttons.map((button) => getComputedStyle(button).borderBottomWidth),
        );
      assert.deepEqual(borders, ['2px', '0px', '0px', '0px']);
    });
  });

  test('comment is one stop of the Tab key, and keys go from one to the next', async () => {
    await withPage('article/hello', {}, async (page) => {
      const stops = await comments(page).evaluateAll((articles) =>
        articles.map((article) => {
          const controls = article.querySelectorAll(':is(.head, .answer, .actions) :is(a, button)');
          return [...controls].filter((each) => each.tabIndex >= 0 && each.checkVisibility())
            .length;
        }),
      );
      assert.ok(stops.length > 5 && stops.every((each) => each === 1), `${stops}`);
      const ids = await comments(page).evaluateAll((all) => all.map(({ dataset }) => dataset.id));
      const focusedId = () =>
        page
          .locator('gailou-comments')
          .evaluate(({ shadowRoot }) => shadowRoot.activeElement?.closest('article')?.dataset.id);
      await comments(page).first().locator('.act.like').focus();
      await usedPartsRun(page);
      await page.keyboard.press('j');
      assert.equal(await focusedId(), ids[1]);
      await page.keyboard.press('j');
      await page.keyboard.press('k');
      assert.equal(await focusedId(), ids[1]);
      await page.keyboard.press('u');
      assert.equal(await focusedId(), ids[0], 'what it answers');
      await page.keyboard.press('r');
      await comments(page).first().locator('form textarea').waitFor();
      await page.keyboard.type('jk?');
      assert.equal(await comments(page).first().locator('textarea').inputValue(), 'jk?');
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await assertVisible(page.getByRole('dialog').getByText('Next comment'), 'the help');
      await page.keyboard.press('Escape');
      await page.locator('gailou-comments').evaluate((node) => {
        node.keys = 'off';
      });
      const before = await focusedId();
      await page.keyboard.press('j');
      assert.equal(await focusedId(), before, 'the page has disabled the keys');
    });
  });

  test('key that is pressed before the keys are loaded does what it means then', async () => {
    await withPage('article/hello', {}, async (page) => {
      let load;
      const isAsked = new Promise((resolve) => {
        load = resolve;
      });
      await page.route('**/gailou/used-parts-*.js', async (route) => {
        await isAsked;
        await route.continue();
      });
      const ids = await comments(page).evaluateAll((all) => all.map(({ dataset }) => dataset.id));
      const focused = (id) => page.locator(`article[data-id="${id}"]:focus`);
      await mainForm(page).locator('textarea').pressSequentially('jj');
      await comments(page).first().locator('.act.like').focus();
      await page.keyboard.press('j');
      await page.keyboard.press('j');
      await page.waitForTimeout(100);
      assert.equal(await focused(ids[2]).count(), 0);
      load();
      await assertVisible(focused(ids[2]), 'as far as it was asked for');
      await usedPartsRun(page);
      await page.keyboard.press('k');
      await assertVisible(focused(ids[1]), 'and each key does it once from then on');
    });
  });

  for (const hasTouch of [false, true]) {
    const least = hasTouch ? 44 : 24;
    test(`controls are ${least} px high for ${hasTouch ? 'a thumb' : 'a mouse'}`, async () => {
      const options = hasTouch ? { hasTouch, isMobile: true, viewport: PHONE } : {};
      await withPage('article/hello', options, async (page) => {
        await openForm(mainForm(page));
        const small = await page.locator('gailou-comments').evaluate(smallControls, least);
        assert.deepEqual(small, []);
      });
    });
  }

  for (const [colorScheme, hasTouch] of [
    ['light', false],
    ['dark', true],
  ]) {
    test(`what opens is large enough and has no violation (${colorScheme}, touch: ${hasTouch})`, async () => {
      const { subject, hidden } = await subjectToOpen();
      const options = {
        colorScheme,
        hash: `#comment-${hidden.id}`,
        ...(hasTouch && { hasTouch, isMobile: true, viewport: PHONE }),
      };
      await withPage(subject, options, async (page) => {
        for (const [name, open] of Object.entries(OPENED)) {
          await open(page);
          // What fades in has its colours at its end.
          await page.waitForTimeout(200);
          const small = await page
            .locator('gailou-comments')
            .evaluate(smallControls, hasTouch ? 44 : 24);
          assert.deepEqual(small, [], name);
          assert.deepEqual(await violations(page, 'gailou-comments'), [], name);
          await page.keyboard.press('Escape');
        }
      });
    });
  }

  test('paragraphs have their own direction and language, wide code can be scrolled by keys', async () => {
    const subject = newSubject();
    const text = 'مرحبا بالعالم\n\nand on\n\nこんにちは\n\n```\nlet code;\n```';
    await postComment(subject, text, await guestToken());
    await listWithRoots(subject, 1);
    await withPage(subject, {}, async (page) => {
      await comments(page).first().waitFor();
      const body = page.locator('.body').first();
      const directions = await body
        .locator('p')
        .evaluateAll((all) => all.map((node) => getComputedStyle(node).direction));
      assert.deepEqual(directions, ['rtl', 'ltr', 'ltr']);
      await body.locator('[lang]').first().waitFor();
      const languages = await body
        .locator('p')
        .evaluateAll((all) => all.map((node) => node.getAttribute('lang')));
      assert.deepEqual(languages, ['ar', null, 'ja']);
      assert.equal(await body.locator('pre').evaluate((node) => node.tabIndex), 0);
    });
  });

  for (const subject of DEMO_SUBJECTS) {
    test(`${subject} fits into 320 px`, async () => {
      await withPage(subject, { viewport: { width: 320, height: 800 } }, async (page) => {
        await openForm(mainForm(page));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= 320, `${wide}`);
      });
    });

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
