// The moderators' page: charts of what people do.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newSubject, postComment } from './support/api.mjs';
import { newMember, smallTargets, until, violations, withConsole } from './support/console.mjs';
import { BASE, DESKTOP, NARROW, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

const CALL = '**/v1/admin/stats?*';
const STEP_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const POINTS = { minute: 60, hour: 24, day: 30 };

/** Answers the call of the statistics with numbers that rise; `asked` gets the step of each. */
function answerStats(page, asked = []) {
  return page.route(CALL, (route) => {
    const step = new URL(route.request().url()).searchParams.get('step');
    asked.push(step);
    const [length, count] = [STEP_MS[step], POINTS[step]];
    const last = Math.floor(Date.now() / length) * length;
    const data = Array.from({ length: count }, (_, n) => ({
      at: last - (count - 1 - n) * length,
      posts: n % 13,
      held: n % 3,
      rejected: n % 11 === 0 ? 1 : 0,
      reports: n % 5,
      reactions: n * 40,
    }));
    return route.fulfill({ json: { data } });
  });
}

/** How many pixels of a chart have been painted. */
const painted = (page, number) =>
  page
    .locator('.chart canvas')
    .nth(number)
    .evaluate((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, index) => index % 4 === 3 && value > 0).length;
    });

const totalOf = (page, name) =>
  page.locator('.live h3').filter({ hasText: name }).locator('a, b').textContent();

describe('console: live', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('a comment is counted while the page is seen, and its number leads to a list', async () => {
    const member = newMember('Counted');
    await withConsole({ section: 'live' }, async (page) => {
      await page.locator('.live table time').first().waitFor({ state: 'attached' });
      const before = Number(await totalOf(page, 'Comments'));
      await postComment(newSubject(), newText('counted'), member.token);
      await until(
        async () => Number(await totalOf(page, 'Comments')),
        (count) => count > before,
      );
      assert.ok((await painted(page, 0)) > 100, 'the chart has bars');
      await page.getByRole('link', { name: /^Reports: \d+, to the list$/ }).click();
      await page.waitForURL(/#\/reported$/);
    });
  });

  test('the number of comments leads to those of its hour, a point of it to those of its minute', async () => {
    const text = newText('in this hour');
    await postComment(newSubject(), text, newMember('Timed').token);
    await withConsole({ section: 'live' }, async (page) => {
      const isListed = () =>
        until(
          async () => {
            await page.reload();
            await page.locator('.comments .card').first().waitFor();
            return page.locator('.comments').getByText(text).count();
          },
          (count) => count === 1,
        );
      await until(
        async () => Number(await totalOf(page, 'Comments')),
        (count) => count > 0,
      );
      await page.getByRole('link', { name: /^Comments: / }).click();
      await page.waitForURL(/#\/comments\?from=.+Z&to=.+Z$/);
      await isListed();
      await page.locator('summary').first().click();
      assert.match(await page.getByLabel('From').inputValue(), /^\d{4}-\d\d-\d\dT\d\d:\d\d$/);

      await page.goBack();
      await page.getByText('As a table').click();
      await page
        .getByRole('link', { name: /^Comments, .+ to the list$/ })
        .first()
        .click();
      await page.waitForURL(/#\/comments\?from=/);
      await isListed();
      await page.goBack();
      await page.getByRole('heading', { name: 'Live' }).waitFor();
    });
  });

  test('a bar of a chart opens the list of what it counts', async () => {
    const prepare = (page) => answerStats(page);
    await withConsole({ section: 'live?range=day', prepare }, async (page) => {
      await until(
        () => painted(page, 0),
        (count) => count > 100,
      );
      const { width } = await page.locator('.plot').first().boundingBox();
      await page
        .locator('.plot')
        .first()
        .click({ position: { x: width - 12, y: 80 } });
      await page.waitForURL(/#\/comments\?from=/);
      const { hash } = new URL(page.url());
      const { from, to } = Object.fromEntries(new URLSearchParams(hash.split('?')[1]));
      assert.equal(Date.parse(to) - Date.parse(from), STEP_MS.hour);
    });
  });

  test('a range is an address with its step; no number leads nowhere', async () => {
    const asked = [];
    const prepare = (page) => answerStats(page, asked);
    await withConsole({ section: 'live?range=month', prepare }, async (page) => {
      const rows = page.locator('.live tbody tr');
      await until(
        () => rows.count(),
        (count) => count === 30,
      );
      await page.getByRole('link', { name: 'Last day' }).click();
      await page.waitForURL(/live\?range=day$/);
      await until(
        () => rows.count(),
        (count) => count === 24,
      );
      assert.deepEqual([asked[0], asked.at(-1)], ['day', 'hour']);
      const links = await page.locator('.live h3 a').evaluateAll((all) => all.map((a) => a.hash));
      const lists = links.filter((hash) => !hash.startsWith('#/comments?from='));
      assert.deepEqual(lists, ['#/held', '#/audit?action=reject', '#/reported']);
      await page.getByText('As a table').click();
      await rows.first().waitFor();
    });
  });

  test('it asks again only while it is seen, and says what does not work', async () => {
    const prepare = (page) => page.route(CALL, (route) => route.abort());
    await withConsole({ section: 'live', prepare }, async (page) => {
      await page.getByRole('alert').waitFor();
      const asked = [];
      const setVisibility = (state) =>
        page.evaluate((value) => {
          const visibility = { get: () => value, configurable: true };
          Object.defineProperty(document, 'visibilityState', visibility);
          document.dispatchEvent(new Event('visibilitychange'));
        }, state);
      await setVisibility('hidden');
      await page.unroute(CALL);
      await answerStats(page, asked);
      await page.waitForTimeout(6_000);
      assert.deepEqual(asked, []);
      await setVisibility('visible');
      await page.getByRole('alert').waitFor({ state: 'detached' });
      assert.equal(asked[0], 'minute');
    });
  });

  test('it is accessible in light and dark, in both languages, and fits a phone', async () => {
    const looks = [
      { viewport: DESKTOP, colorScheme: 'light', locale: 'en-GB' },
      { viewport: DESKTOP, colorScheme: 'dark', locale: 'zh-CN' },
      { viewport: NARROW, colorScheme: 'light', locale: 'zh-CN' },
      { viewport: NARROW, colorScheme: 'dark', locale: 'en-GB' },
    ];
    for (const [n, look] of looks.entries()) {
      const prepare = (page) => answerStats(page);
      await withConsole({ section: 'live', prepare, ...look }, async (page) => {
        await page.locator('.live table time').first().waitFor({ state: 'attached' });
        await until(
          () => painted(page, 4),
          (count) => count > 100,
        );
        if (process.env.E2E_SHOTS) {
          await page.screenshot({ path: `${process.env.E2E_SHOTS}/live-${n}.png` });
        }
        await page.locator('.live summary').click();
        assert.deepEqual(await violations(page), []);
        const { scroll, width } = await page.evaluate(() => ({
          scroll: document.querySelector('main').scrollWidth,
          width: document.querySelector('main').clientWidth,
        }));
        assert.ok(scroll <= width, `nothing is cut off: ${scroll} > ${width}`);
        if (look.viewport === NARROW) assert.deepEqual(await smallTargets(page), []);
      });
    }
  });
});
