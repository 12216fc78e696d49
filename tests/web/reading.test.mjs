// Reading: lists, tombstones, hidden subjects, languages.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  call,
  callUntil,
  guestToken,
  listWithRoots,
  memberToken,
  newSubject,
  postComment,
  subjectPath,
} from './support/api.mjs';
import { violations } from './support/console.mjs';
import {
  BASE,
  DESKTOP,
  demoLines,
  NARROW,
  skipWithout,
  TOKEN_SECRET,
} from './support/environment.mjs';
import { lowContrast } from './support/inspect.mjs';
import {
  assertVisible,
  comments,
  commentWith,
  listIsLoaded,
  newText,
  withPage,
} from './support/page.mjs';

describe('reading', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('pinned comment is first and shown once', async () => {
    const seeded = demoLines('article/hello');
    const opening = seeded
      .find((line) => line.pinned)
      .content.split('\n')[0]
      .slice(0, 40);
    const root = seeded.find((line) => !line.parent && !line.pinned && !line.deleted);
    await withPage('article/hello', {}, async (page) => {
      const first = page.locator('.list > .item').first();
      await assertVisible(first.getByText('Pinned'), 'a pinned comment is first');
      await assertVisible(first.getByText(opening), 'it is the seeded one');
      assert.equal(await page.locator('.list .body').filter({ hasText: opening }).count(), 1);
      await assertVisible(commentWith(page, root.content.slice(0, 30)), 'another seeded root');
      assert.match(await page.locator('gailou-comments h2').textContent(), /^\d+ comments?$/);
    });
  });

  test('deleted comment with replies is a tombstone', async () => {
    const lines = demoLines('article/hello');
    const deleted = lines.find((line) => line.deleted);
    const root = lines.find((line) => line.id === deleted.root);
    await withPage('article/hello', {}, async (page) => {
      const items = page.locator('.list > .item');
      const thread = items.filter({ hasText: root.content.slice(0, 30) }).first();
      const more = thread.locator('> .more-replies');
      if (await more.isVisible()) await more.click();
      const tombstone = thread.locator('.replies article', { hasText: 'This comment was deleted' });
      await assertVisible(tombstone, 'the tombstone');
      assert.equal(await tombstone.locator('.avatar').isVisible(), false);
      assert.equal(await page.getByText(deleted.content).count(), 0);
    });
  });

  test('Back from a comment that is not on the page leads to the place in the list', async () => {
    const subject = newSubject();
    const token = await guestToken();
    const oldest = await postComment(subject, 'The oldest', token);
    // The page after the first one is loaded while that is read.
    for (let n = 1; n <= 45; n += 1) await postComment(subject, `Comment ${n}`, token);
    await listWithRoots(subject, 20);
    await withPage(subject, { query: '&sort=new' }, async (page) => {
      const read = commentWith(page, 'Comment 32');
      await read.evaluate((node) => node.scrollIntoView({ block: 'center' }));
      const { y } = await read.boundingBox();
      await page.evaluate((id) => {
        location.hash = `#comment-${id}`;
      }, oldest.id);
      const panel = page.locator('.linked').getByText('The oldest');
      await assertVisible(panel, 'the linked comment');
      await page.goBack();
      await panel.waitFor({ state: 'detached' });
      const moved = Math.abs((await read.boundingBox()).y - y);
      assert.ok(moved <= 2, `${moved} px away`);
    });
  });

  test('hidden subject is empty until a moderator signs in', {
    skip: skipWithout({ E2E_TOKEN_SECRET: TOKEN_SECRET }),
  }, async () => {
    const subject = newSubject();
    const text = newText('Hidden');
    const { id } = await postComment(subject, text, await guestToken());
    const path = `/v1/admin/subjects/${subjectPath(subject)}`;
    const admin = memberToken('1', 'Admin', 'admin');
    const hidden = await call('PUT', path, { body: { state: 'hidden' }, token: admin });
    assert.equal(hidden.status, 200, hidden.text);
    await callUntil(`/v1/comments/${id}`, ({ status }) => status === 404);
    const signIn = (page, token) =>
      page.locator('gailou-comments').evaluate((element, value) => {
        element.token = value;
      }, token);
    for (const [hash, notice] of [
      ['', 'Comments are hidden here'],
      [`#comment-${id}`, 'The linked comment could not be found'],
    ]) {
      await withPage(subject, { hash }, async (page) => {
        await assertVisible(page.getByText(notice), notice);
        await listIsLoaded(page);
        await signIn(page, memberToken('2', 'Bo'));
        assert.equal(await comments(page).count(), 0);
        await signIn(page, memberToken('9', 'Mo', 'moderator'));
        await assertVisible(commentWith(page, text), `the moderator sees it (${hash})`);
      });
    }
    await withPage(subject, {}, async (page) => {
      assert.equal(await comments(page).count(), 0, 'the next reader does not');
    });
  });

  test('permalink to an unknown comment shows a message and the list', async () => {
    await withPage('article/hello', { hash: '#comment-1' }, async (page) => {
      const note = page.getByText('The linked comment could not be found.');
      await assertVisible(note, 'the explanation');
      await assertVisible(comments(page), 'the list');
    });
  });

  test('expired cursor starts again past the caches and shows no comment twice', async () => {
    const list = '/v1/subjects/article/hello/comments';
    const { data: firstPage } = await call('GET', `${list}?sort=old&limit=4`);
    const expired = { status: 410, code: 'cursor_expired' };
    const cursors = [];
    const prepare = async (context) => {
      // A test cannot see `Cache-Control: no-cache`, because the browser adds it later.
      await context.addInitScript(() => {
        window.cacheModes = [];
        const { fetch } = window;
        window.fetch = (address, init) => {
          if (String(address).includes('/comments?')) window.cacheModes.push(init.cache);
          return fetch(address, init);
        };
      });
      await context.route(`**${list}?*`, (route) => {
        cursors.push(new URL(route.request().url()).searchParams.get('cursor'));
        if (cursors.length === 1) return route.fulfill({ json: firstPage });
        if (cursors.length > 2) return route.fallback();
        return route.fulfill({
          status: 410,
          contentType: 'application/problem+json',
          body: JSON.stringify(expired),
        });
      });
    };
    await withPage('article/hello', { prepare }, async (page) => {
      const roots = demoLines('article/hello').filter((line) => !line.parent);
      await page.locator('.foot').scrollIntoViewIfNeeded();
      const last = page.locator('.list > .item').nth(roots.length - 1);
      await assertVisible(last, 'all roots are shown');
      const articles = page.locator('.list article');
      const ids = await articles.evaluateAll((nodes) => nodes.map((node) => node.dataset.id));
      assert.equal(new Set(ids).size, ids.length, 'no comment is shown twice');
      assert.equal(cursors[2], null, 'the list starts again');
      const cacheModes = await page.evaluate(() => window.cacheModes.slice(0, 3));
      assert.deepEqual(cacheModes, ['default', 'default', 'reload'], 'past every cache');
    });
  });

  test('code has the colours of its language, readable in both themes, and the text it had', async () => {
    const subject = newSubject();
    const rust =
      'fn main() {\n    // greets\n    let name: &str = "you";\n    println!("{name}", 12);\n}\n';
    const guessed =
      'def greet(name):\n    return f"Hello, {name}"\n\nclass House:\n    floors = None\n\nif __name__ == "__main__":\n    print(greet("you"))\n';
    const plain = 'a <b> & c\n';
    const blocks = [`rust\n${rust}`, `\n${guessed}`, `mermaid\n${plain}`];
    const text = blocks.map((block) => `\`\`\`${block}\`\`\``).join('\n\n');
    await postComment(subject, text, await guestToken());
    await listWithRoots(subject, 1);
    for (const colorScheme of ['light', 'dark']) {
      await withPage(subject, { colorScheme }, async (page) => {
        const shown = page.locator('.body pre > code');
        await shown.nth(0).locator('.hljs-keyword').first().waitFor();
        await shown.nth(1).locator('.hljs-keyword').first().waitFor();
        assert.deepEqual(await shown.allTextContents(), [rust, guessed, plain]);
        assert.equal(await shown.nth(2).locator('span').count(), 0, 'an unknown language');
        const colors = await shown
          .first()
          .locator('span')
          .evaluateAll((spans) => new Set(spans.map((span) => getComputedStyle(span).color)).size);
        assert.ok(colors >= 4, `${colors} colours`);
        assert.deepEqual(await page.evaluate(lowContrast), []);
      });
    }
  });

  test('task of a list has a box and no bullet', async () => {
    const subject = newSubject();
    const text =
      '- [x] done\n- [ ] to do\n- ☑\n- plain\n\n1. one\n\ntext\n\n- [x] with\n\n- [ ] space';
    await postComment(subject, text, await guestToken());
    await listWithRoots(subject, 1);
    await withPage(subject, {}, async (page) => {
      await page.locator('.body li.task').first().waitFor();
      const items = await page.locator('.body li').evaluateAll((all) =>
        all.map((node) => {
          const hasBullet = getComputedStyle(node).listStyleType !== 'none';
          return `${hasBullet ? '•' : ''}${node.textContent.trim()}`;
        }),
      );
      assert.deepEqual(items, ['☑ done', '☐ to do', '•☑', '•plain', '•one', '☑ with', '☐ space']);
    });
  });

  test('formula is drawn, its source can be opened, and one that cannot be drawn stays code', async () => {
    const subject = newSubject();
    const sum =
      '\\sum_{i=1}^{n} \\frac{x_i}{2} = \\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}\n';
    const wide = `${'\\boxed{\\sqrt{x}} + \\cancel{y} + '.repeat(20)}\\text{<img src=x onerror=alert(1)>}\n`;
    const codes = [
      '\\frac{a}\n',
      '\\href{javascript:alert(1)}{x}\n',
      '\\class{badge}{x}\n',
      '\\def\\a{x}\\a\n',
      `${'x'.repeat(2_001)}\n`,
      `\\begin{matrix}${'&'.repeat(300)}${'\\\\'.repeat(300)}\\end{matrix}\n`,
    ];
    const blocks = [`math\n${sum}`, `tex\n${wide}`, ...codes.map((code) => `latex\n${code}`)];
    const fence = (block) => `\`\`\`${block}\`\`\``;
    const writer = await guestToken();
    await postComment(subject, blocks.map(fence).join('\n\n'), writer);
    await listWithRoots(subject, 1);
    for (const [viewport, colorScheme] of [
      [DESKTOP, 'light'],
      [NARROW, 'dark'],
    ]) {
      const loaded = [];
      const prepare = (context) => context.on('request', (asked) => loaded.push(asked.url()));
      await withPage(subject, { viewport, colorScheme, prepare }, async (page) => {
        const formulas = page.locator('.body .formula');
        await formulas.nth(1).locator('math').waitFor();
        await page.getByRole('button', { name: 'Show the whole text' }).click();
        assert.equal(await formulas.count(), 2);
        const first = await formulas.first().locator('math').boundingBox();
        assert.ok(first.height > 30, `${first.height} px: a fraction and a matrix are drawn`);
        assert.equal(await formulas.first().locator('mtd').count(), 4);
        assert.deepEqual(await page.locator('.body > pre').allTextContents(), codes);
        const tags = await formulas.evaluateAll((all) =>
          all.flatMap((each) => [...each.querySelectorAll('math *')].map((node) => node.localName)),
        );
        assert.ok(!tags.some((tag) => /^(a|img|script|merror)$/.test(tag)), `${new Set(tags)}`);
        const { width } = await formulas.nth(1).boundingBox();
        assert.ok(width < viewport.width, 'a wide formula is scrolled in its place');
        const source = formulas.first().locator('pre');
        assert.equal(await source.isVisible(), false);
        await formulas.first().getByText('TeX').click();
        await source.waitFor();
        assert.equal(await source.textContent(), sum);
        assert.deepEqual(await page.evaluate(lowContrast), []);
        assert.deepEqual(await violations(page, 'gailou-comments'), []);
        assert.equal(loaded.filter((url) => /\/formulas-/.test(url)).length, 1);
        assert.equal(loaded.filter((url) => /\/highlight-/.test(url)).length, 0, 'no colours');
        if (process.env.E2E_SHOTS) {
          await page.screenshot({ path: `${process.env.E2E_SHOTS}/formulas-${colorScheme}.png` });
        }
      });
    }
  });

  test('switch of the page changes the language', async () => {
    await withPage(newSubject(), { lang: 'en' }, async (page) => {
      await assertVisible(page.getByPlaceholder('Join the discussion…'), 'English');
      await page.locator('#language').click();
      await assertVisible(page.getByPlaceholder('说点什么吧…'), 'Chinese');
      await assertVisible(page.getByText('快来抢沙发', { exact: false }), 'the empty state');
    });
  });

  test('Chinese texts name sorts, floors and pins', async () => {
    await withPage('article/hello', { lang: 'zh' }, async (page) => {
      await assertVisible(page.getByRole('button', { name: '最热' }), 'the sorts');
      await assertVisible(page.getByText('1 楼', { exact: true }), 'the floors');
      await assertVisible(page.getByText('置顶', { exact: true }), 'the pin');
    });
  });

  test('two script tags on one page are two threads', async () => {
    const subjects = [newSubject(), newSubject()];
    await withPage(newSubject(), {}, async (page) => {
      await page.evaluate((names) => {
        for (const subject of names) {
          const script = document.createElement('script');
          script.src = '/gailou.js';
          script.dataset.subject = subject;
          document.body.append(script);
        }
      }, subjects);
      for (const subject of subjects) {
        const thread = page.locator(`script + gailou-comments[subject="${subject}"]`);
        await assertVisible(thread, subject);
      }
    });
  });
});
