// Hostile comments in the element: no text of a comment runs as code.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newSubject } from './support/api.mjs';
import { BASE, skipWithout } from './support/environment.mjs';
import { inspectBody } from './support/inspect.mjs';
import { assertVisible, commentWith, newText, postOnPage, withPage } from './support/page.mjs';

const DANGEROUS_TAGS = ['script', 'img', 'svg', 'math', 'iframe', 'form', 'style', 'object'];

const HOSTILE_TEXT =
  '<img src=x onerror="window.pwned=1"> <script>window.pwned=1</script> ' +
  '[click](javascript:window.pwned=1) <a href="javascript:window.pwned=1">here</a> ' +
  '<svg onload="window.pwned=1"></svg> ![x](javascript:window.pwned=1)';

const HOSTILE_HTML =
  '<p onclick="window.pwned=1">still <b style="position:fixed">here</b>' +
  '<script>window.pwned=1</script><img src=x onerror="window.pwned=1">' +
  '<a href=" java\nscript:window.pwned=1">a</a><a href="data:text/html,x">b</a>' +
  '<svg><a href="javascript:window.pwned=1"><style><img src=x ' +
  'onerror="window.pwned=1"></style></a></svg>' +
  '<math><mtext><img src=x onerror="window.pwned=1"></mtext></math>' +
  '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>' +
  '<form action="https://evil.example"><button>x</button></form></p>';

function assertHarmless({ tags, attributes, links }) {
  assert.deepEqual(
    tags.filter((tag) => DANGEROUS_TAGS.includes(tag)),
    [],
  );
  assert.deepEqual(
    attributes.filter((name) => name.startsWith('on') || name === 'style'),
    [],
  );
  assert.deepEqual(
    links.filter((href) => href && !/^(https?|mailto):/.test(href)),
    [],
  );
}

describe('safety', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('hostile text does not run', async () => {
    const mark = newText('Hostile');
    await withPage(newSubject(), {}, async (page) => {
      const comment = await postOnPage(page, `${mark} ${HOSTILE_TEXT}`, mark);
      await page.reload();
      await assertVisible(commentWith(page, mark), 'shown');
      assertHarmless(await comment.evaluate(inspectBody));
      for (const link of await comment.locator('.body a').all()) await link.click({ trial: true });
      assert.equal(await page.evaluate(() => window.pwned), undefined);
    });
  });

  test('token in the address is not used', async () => {
    for (const address of [{ query: '&token=a.b.c' }, { hash: '#token=a.b.c' }]) {
      await withPage('article/hello', address, async (page) => {
        assert.equal(await page.locator('gailou-comments').getAttribute('token'), null);
      });
    }
  });

  test('hostile HTML from the server is sanitised', async () => {
    const prepare = (context) =>
      context.route('**/v1/subjects/article/hello/comments?*', async (route) => {
        const response = await route.fetch();
        const page = await response.json();
        for (const comment of page.data) comment.html = HOSTILE_HTML;
        await route.fulfill({ response, json: page });
      });
    await withPage('article/hello', { prepare }, async (page) => {
      const body = page.locator('.body').filter({ hasText: 'still here' }).first();
      await assertVisible(body, 'the harmless part is shown');
      assertHarmless(await body.evaluate(inspectBody));
      assert.equal(await page.evaluate(() => window.pwned), undefined);
    });
  });
});
