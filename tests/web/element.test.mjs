// What a page can do with the element: properties, methods, events, a token that is fetched, and a wait until it is near.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { guestToken, listWithRoots, memberToken, newSubject, postComment } from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import { BASE, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { startSite, withHostPage } from './support/host-page.mjs';
import {
  assertVisible,
  comments,
  commentWith,
  isFocused,
  mainForm,
  newText,
  openForm,
  sendForm,
} from './support/page.mjs';

const pageWith = (subject, attributes = '') =>
  `<title>A site</title><gailou-comments subject="${subject}" lang="en" ${attributes}></gailou-comments>
   <script src="/gailou.js"></script>`;

/** A subject with one comment. */
async function subjectWith(text) {
  const subject = newSubject();
  const { id } = await postComment(subject, text, await guestToken());
  await listWithRoots(subject, 1);
  return { subject, id };
}

const element = (page) => page.locator('gailou-comments');

/** A page that names no subject, with the tag in its place and the script in the head. */
const PAGES_WITHOUT_SUBJECT = [
  '<gailou-comments lang="en"></gailou-comments><script src="/gailou.js"></script>',
  '<script src="/gailou.js" data-subject data-lang="en"></script>',
];

describe('element', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('without a subject is of the page, by its canonical address', async () => {
    const path = newText('page').replaceAll(' ', '-');
    const text = newText('Of the page');
    await postComment(`article/blog.example/${path}`, text, await guestToken());
    await listWithRoots(`article/blog.example/${path}`, 1);
    for (const tags of PAGES_WITHOUT_SUBJECT) {
      const address = `https://www.blog.example/${path}/?utm_source=x#top`;
      const html = `<title>A site</title><link rel="canonical" href="${address}">${tags}`;
      await withHostPage({ html }, async (page) => {
        await assertVisible(commentWith(page, text), tags);
        assert.equal(await element(page).getAttribute('subject'), `article/blog.example/${path}`);
      });
    }
    const html = '<title>A site</title><p>No comments</p><script src="/gailou.js"></script>';
    await withHostPage({ html }, async (page) => {
      await page.waitForFunction(() => customElements.get('gailou-comments'));
      assert.equal(await element(page).count(), 0, 'the script alone puts nothing on a page');
    });
  });

  test('events say that it is ready, how many comments there are, what is posted and what went wrong', async () => {
    const { subject } = await subjectWith(newText('First'));
    const recorder = `<script>
      window.events = [];
      for (const name of ['ready', 'count', 'posted', 'error']) {
        addEventListener('gailou:' + name, ({ detail }) => window.events.push([name, detail]));
      }
    </script>`;
    await withHostPage({ html: recorder + pageWith(subject) }, async (page) => {
      await comments(page).waitFor();
      const events = () => page.evaluate(() => window.events);
      assert.deepEqual(await events(), [
        ['count', { subject, count: 1 }],
        ['ready', { subject, count: 1 }],
      ]);
      const text = newText('Second');
      await sendForm(mainForm(page), text, 'Post');
      await assertVisible(commentWith(page, text), 'posted');
      await page.waitForFunction(() => window.events.some(([name]) => name === 'posted'));
      await page.route('**/v1/subjects/**', (route) =>
        route.fulfill({ status: 500, json: { code: 'internal', status: 500 } }),
      );
      await element(page).evaluate((node) => node.reload());
      await page.waitForFunction(() => window.events.some(([name]) => name === 'error'));
      const [, problem] = (await events()).find(([name]) => name === 'error');
      assert.deepEqual(problem, { code: 'internal', status: 500 });
    });
  });

  test('style sheet of the page reaches every part, in frames and in what opens later too', async () => {
    const names = (
      'thread header composer input toolbar button comment author body actions floor frame quote seal ' +
      'notice menu-button menu card'
    ).split(' ');
    const rules = names.map((name) => `gailou-comments::part(${name}) { --reached: ${name} }`);
    const html =
      `<style>${rules.join('\n')} gailou-comments::part(frame) { border-style: dashed }</style>` +
      pageWith('topic/building');
    await withHostPage({ html }, async (page) => {
      const floor = page.locator('.fl').first();
      await openForm(mainForm(page));
      await floor.locator('.number').click();
      await floor.locator('.floor-actions').waitFor();
      await page.locator('.item .more').first().click();
      await page.getByRole('menu').waitFor();
      const reached = () =>
        element(page).evaluate(({ shadowRoot }) =>
          [...shadowRoot.querySelectorAll('*')].flatMap((node) => {
            const name = getComputedStyle(node).getPropertyValue('--reached');
            return name && node.part.contains(name) ? name : [];
          }),
        );
      const withMenu = await reached();
      await page.keyboard.press('Escape');
      await page.locator('article .author').first().click();
      await page.getByRole('dialog').waitFor();
      const all = new Set([...withMenu, ...(await reached())]);
      assert.deepEqual(
        names.filter((name) => !all.has(name)),
        [],
      );
      const partsOf = (selector) =>
        floor.locator(selector).evaluateAll((nodes) => nodes.map(({ part }) => String(part)));
      assert.deepEqual(await partsOf('.author, .number, .body, .floor-actions'), [
        ...['author', 'floor', 'body', 'actions'],
      ]);
      const border = await page
        .locator('.fr')
        .first()
        .evaluate((node) => getComputedStyle(node).borderTopStyle);
      assert.equal(border, 'dashed');
    });
  });

  test('methods load the list anew, focus the form and open a comment', async () => {
    const text = newText('First');
    const { subject, id } = await subjectWith(text);
    await withHostPage({ html: pageWith(subject) }, async (page) => {
      await comments(page).waitFor();
      const later = newText('Later');
      await postComment(subject, later, await guestToken());
      await listWithRoots(subject, 2);
      await element(page).evaluate((node) => node.reload());
      await assertVisible(commentWith(page, later), 'loaded anew');
      await element(page).evaluate((node) => node.focusComposer());
      assert.equal(await isFocused(mainForm(page).locator('textarea')), true);
      await element(page).evaluate((node, comment) => node.open(comment), id);
      await assertVisible(page.locator('.target').filter({ hasText: text }), 'the comment');
    });
  });

  test('properties are attributes, and unknown words are the default', async () => {
    const subject = newSubject();
    await withHostPage({ html: pageWith(subject) }, async (page) => {
      await page.evaluate(() => customElements.whenDefined('gailou-comments'));
      const seen = await element(page).evaluate((node) => {
        node.theme = 'dark';
        node.sort = 'sideways';
        node.live = false;
        node.keys = true;
        node.api = null;
        const { theme, sort, live, keys, api, loading, token } = node;
        return [theme, sort, live, keys, api, loading, token, node.getAttributeNames().sort()];
      });
      assert.deepEqual(seen, [
        ...['dark', 'hot', 'off', 'on', '', 'lazy', null],
        ['keys', 'lang', 'live', 'sort', 'subject', 'theme'],
      ]);
    });
  });

  test('token that a function fetches is fetched again when the server refuses it', {
    skip: skipWithout({ E2E_TOKEN_SECRET: TOKEN_SECRET }),
  }, async () => {
    const subject = newSubject();
    await withHostPage({ html: pageWith(subject) }, async (page) => {
      const tokens = [`${memberToken('31', 'Expired')}x`, memberToken('32', 'Fetched')];
      await element(page).evaluate((node, given) => {
        window.calls = 0;
        node.token = async () => {
          window.calls += 1;
          return given[Math.min(window.calls, given.length) - 1];
        };
      }, tokens);
      const text = newText('By a fetched token');
      await sendForm(mainForm(page), text, 'Post');
      const comment = commentWith(page, text);
      await assertVisible(comment.getByText('Fetched'), 'the member of the second token');
      assert.equal(await comment.getByText('Guest', { exact: true }).count(), 0);
      assert.ok((await page.evaluate(() => window.calls)) >= 2);
    });
  });

  test('token that the server refuses is said at once, with a way to sign in again', {
    skip: skipWithout({ E2E_TOKEN_SECRET: TOKEN_SECRET }),
  }, async () => {
    const { subject } = await subjectWith(newText('First'));
    const refused = `${memberToken('33', 'Expired')}x`;
    const recorder = `<script>
      window.asked = 0;
      addEventListener('gailou:sign-in', () => window.asked += 1);
    </script>`;
    const html = recorder + pageWith(subject, `token="${refused}"`);
    await withHostPage({ html }, async (page) => {
      await comments(page).waitFor();
      const form = mainForm(page);
      await openForm(form);
      await assertVisible(form.getByText('no longer valid'), 'it is said before anything is sent');
      assert.equal(await form.getByText('Posting as').count(), 0);
      const before = await page.evaluate(() => window.asked);
      await form.getByRole('button', { name: 'Sign in' }).click();
      assert.equal(await page.evaluate(() => window.asked), before + 1, 'the page is asked');
      await element(page).evaluate(
        (node, token) => {
          node.token = token;
        },
        memberToken('33', 'Renewed'),
      );
      await assertVisible(form.getByText('Posting as Renewed'), 'signed in again');
    });
  });

  test('moved element keeps its thread, removed one stops', async () => {
    const { subject } = await subjectWith(newText('First'));
    await withHostPage({ html: `${pageWith(subject)}<div id="other"></div>` }, async (page) => {
      await comments(page).waitFor();
      const requests = [];
      page.on('request', (request) => requests.push(request.url()));
      await element(page).evaluate((node) => document.getElementById('other').append(node));
      await comments(page).waitFor();
      await mainForm(page).locator('textarea').fill('a draft');
      assert.deepEqual(
        requests.filter((url) => url.includes('/comments')),
        [],
        'nothing is loaded again',
      );
      await element(page).evaluate((node) => node.remove());
    });
  });

  test('comments far below are loaded when the reader comes near, unless the address names one', async () => {
    const text = newText('Far below');
    const { subject, id } = await subjectWith(text);
    const far = `<div style="height: 6000px">A long story</div>`;
    const lists = (page) => {
      const urls = [];
      page.on('request', (request) => {
        if (/\/(comments|context)\b/.test(new URL(request.url()).pathname))
          urls.push(request.url());
      });
      return urls;
    };
    await withHostPage({ html: far + pageWith(subject) }, async (page) => {
      const urls = lists(page);
      await page.evaluate(() => customElements.whenDefined('gailou-comments'));
      await page.evaluate(() => new Promise((done) => setTimeout(done, 500)));
      assert.deepEqual(urls, [], 'nothing is asked for');
      await page.evaluate(() => scrollTo(0, 4600));
      await assertVisible(commentWith(page, text), 'near enough');
    });
    await withHostPage({ html: far + pageWith(subject), hash: `#comment-${id}` }, async (page) => {
      await assertVisible(page.locator('.target').filter({ hasText: text }), 'at once');
    });
    await withHostPage({ html: far + pageWith(subject, 'loading="eager"') }, async (page) => {
      await commentWith(page, text).waitFor({ state: 'attached' });
    });
  });

  for (const [kind, tag] of [
    ['classic', `<script src="${BASE}/gailou.js" defer`],
    ['module', `<script type="module" src="${BASE}/gailou.js"`],
  ]) {
    test(`${kind} script of another origin works under a strict policy`, async () => {
      const text = newText('Under a policy');
      const { subject } = await subjectWith(text);
      const { server, site } = await startSite(
        `<body>${tag} data-subject="${subject}" data-lang="zh"></script>`,
        {
          'content-security-policy': `default-src 'none'; script-src ${BASE}; connect-src ${BASE}`,
        },
      );
      const context = await newContext();
      try {
        const page = await context.newPage();
        const refused = [];
        page.on('console', (message) => {
          if (/Content Security/.test(message.text())) refused.push(message.text());
        });
        await page.goto(`${site}/post`);
        await assertVisible(commentWith(page, text), 'the comments');
        await mainForm(page).locator('textarea').fill('a draft');
        await mainForm(page).getByRole('button', { name: '发表', exact: true }).waitFor();
        await comments(page).first().getByRole('button', { name: /回复/ }).click();
        await comments(page).first().locator('form textarea').waitFor();
        assert.equal(
          await page
            .locator('gailou-comments h2')
            .evaluate((node) => getComputedStyle(node).fontSize),
          '20px',
          'it has its style',
        );
        assert.deepEqual(refused, []);
      } finally {
        await context.close();
        server.close();
      }
    });
  }
});
