// The published widgets of other comment systems, unchanged, on a page of another site: each posts, answers, likes, counts,
// and has all of it again after a reload. `scripts/setup.sh test` fetches them.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { newContext } from './support/browser.mjs';
import { BASE, DESKTOP, skipWithout, WAIT_MS } from './support/environment.mjs';
import { newText } from './support/page.mjs';

const FILES = fileURLToPath(new URL('../../.tools/widgets/', import.meta.url));
const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html' };
/** Where the pictures of the widgets go, for who looks at them; nothing is compared. */
const PICTURES = process.env.E2E_WIDGET_PICTURES;

/** Roots of a page of Twikoo, whose size the server decides. */
const TWIKOO_PAGE = 10;

const WALINE = {
  name: 'waline',
  html: (path) => `
    <link rel="stylesheet" href="/files/node_modules/@waline/client/dist/waline.css">
    <span class="waline-comment-count" data-path="${path}"></span>
    <div id="widget"></div>
    <script type="module">
      import { init, RecentComments } from '/files/node_modules/@waline/client/dist/waline.js';
      init({ el: '#widget', serverURL: '${BASE}/compat/waline', path: '${path}', lang: 'en-US', emoji: false,
        search: false, comment: true, pageview: true, login: 'disable', pageSize: 2 });
      window.recent = () => RecentComments({ serverURL: '${BASE}/compat/waline', count: 1 });
    </script>`,
  comment: '.wl-card-item',
  count: '.waline-comment-count',
  more: '.wl-operation .wl-btn',
  part: (id, selector) => `[id="${id}"] > .wl-card > .wl-head ${selector}`,
  idOf: (item) => item.getAttribute('id'),
  async post(page, text) {
    await page.fill('#wl-nick', 'Bo');
    await page.fill('#wl-edit', text);
    await page.click('.wl-info button.wl-btn.primary');
  },
  async reply(page, id, text) {
    await page.click(this.part(id, '.wl-reply'));
    await page.fill('.wl-reply-wrapper #wl-edit', text);
    await page.click('.wl-reply-wrapper button.wl-btn.primary');
  },
  like: (page, id) => page.click(WALINE.part(id, '.wl-like')),
  likes: (page, id) => page.locator(WALINE.part(id, '.wl-like')),
};

const ARTALK = {
  name: 'artalk',
  html: (path) => `
    <link rel="stylesheet" href="/files/node_modules/artalk/dist/Artalk.css">
    <span class="artalk-comment-count" data-page-key="${path}"></span>
    <div id="widget"></div>
    <script src="/files/node_modules/artalk/dist/Artalk.js"></script>
    <script>
      Artalk.init({ el: '#widget', server: '${BASE}/compat/artalk', site: 'Demo', pageKey: '${path}', pageTitle: 'A page',
        locale: 'en', emoticons: false, heightLimit: { content: 0, children: 0 },
        pagination: { pageSize: 2, readMore: true, autoLoad: false } });
    </script>`,
  comment: '.atk-comment-wrap',
  count: '.artalk-comment-count',
  more: '.atk-list-read-more',
  part: (id, selector) =>
    `#atk-comment-${id} > .atk-comment > .atk-main > .atk-footer > .atk-actions > ${selector}`,
  idOf: async (item) => (await item.getAttribute('id')).replace('atk-comment-', ''),
  async post(page, text) {
    await page.fill('.atk-main-editor input[name=name]', 'Bo');
    await page.fill('.atk-textarea', text);
    await page.click('.atk-send-btn');
  },
  async reply(page, id, text) {
    await page.click(this.part(id, 'span:not(.atk-common-action-btn)'));
    await page.fill('.atk-textarea', text);
    await page.click('.atk-send-btn');
  },
  like: (page, id) => page.click(ARTALK.part(id, 'span.atk-common-action-btn:nth-child(1)')),
  likes: (page, id) => page.locator(ARTALK.part(id, 'span.atk-common-action-btn:nth-child(1)')),
};

const ISSO = {
  name: 'isso',
  html: (path) => `
    <a class="count" href="${path}#isso-thread">Comments</a>
    <section id="isso-thread" data-title="A page" data-isso-id="${path}"></section>
    <script data-isso="${BASE}/compat/isso" data-isso-max-comments-top="2" data-isso-reveal-on-click="2" data-isso-sorting="newest"
      src="/files/isso/isso/js/embed.min.js"></script>`,
  comment: '#isso-root .isso-comment',
  count: '.count',
  more: '#isso-loader-null a.isso-load-hidden',
  part: (id, selector) => `#isso-${id} > .isso-text-wrapper > .isso-comment-footer > ${selector}`,
  idOf: async (item) => (await item.getAttribute('id')).replace('isso-', ''),
  async post(page, text) {
    const form = page.locator('#isso-thread > .isso-postbox');
    await form.locator('input[name=author]').fill('Bo');
    await form.locator('.isso-textarea').fill(text);
    await form.locator('input[type=submit]').click();
  },
  async reply(page, id, text) {
    await page.click(this.part(id, 'a.isso-reply'));
    const form = page.locator(`#isso-${id} > .isso-text-wrapper > .isso-postbox`);
    await form.locator('.isso-textarea').fill(text);
    await form.locator('input[type=submit]').click();
  },
  like: (page, id) => page.click(ISSO.part(id, 'a.isso-upvote')),
  likes: (page, id) => page.locator(ISSO.part(id, 'span.isso-votes')),
};

const TWIKOO = {
  name: 'twikoo',
  html: (path) => `
    <span class="count"></span>
    <div id="widget"></div>
    <script src="/files/node_modules/twikoo/dist/twikoo.min.js"></script>
    <script>
      const envId = '${BASE}/compat/twikoo';
      twikoo.init({ envId, el: '#widget', path: '${path}', lang: 'en' });
      twikoo.getCommentsCount({ envId, urls: ['${path}'], includeReply: true }).then(([counted]) => {
        document.querySelector('.count').textContent = counted.count;
      });
    </script>`,
  comment: '.tk-comments-container .tk-comment',
  count: '.count',
  more: '.tk-comments-container > .tk-expand-wrap > .tk-expand',
  roots: TWIKOO_PAGE,
  part: (id, selector) => `[id="${id}"] > .tk-main > .tk-row .tk-action .tk-action-link${selector}`,
  idOf: (item) => item.getAttribute('id'),
  async post(page, text) {
    const form = page.locator('.tk-comments > .tk-submit');
    await form.locator('input[name=nick]').fill('Bo');
    await form.locator('input[name=nick]').dispatchEvent('change');
    await form.locator('textarea').fill(text);
    await form.locator('.tk-send').click();
  },
  async reply(page, id, text) {
    await page.click(this.part(id, ':last-child'));
    await page.locator('.tk-comment .tk-submit textarea').fill(text);
    await page.locator('.tk-comment .tk-submit .tk-send').click();
  },
  like: (page, id) => page.click(TWIKOO.part(id, ':nth-last-child(3)')),
  likes: (page, id) => page.locator(TWIKOO.part(id, ':nth-last-child(3)')),
};

const pages = new Map();

/** A site on this machine, which may write by default: the pages of the tests, and the files of the widgets. */
function serve(request, answer) {
  const path = new URL(request.url, 'http://x').pathname;
  if (!path.startsWith('/files/')) {
    answer.setHeader('content-type', 'text/html');
    answer.end(`<!doctype html><title>A blog</title>${pages.get(path) ?? ''}`);
    return;
  }
  const file = join(FILES, normalize(path.slice('/files/'.length)));
  answer.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
  createReadStream(file)
    .on('error', () => answer.writeHead(404).end())
    .pipe(answer);
}

const find = (page, widget, text) => page.locator(widget.comment).filter({ hasText: text }).last();

/** The widget shows a comment with this text; its id. */
async function shown(page, widget, text) {
  const item = find(page, widget, text);
  await item.waitFor();
  return widget.idOf(item);
}

async function waitForText(locator, pattern, reason) {
  const until = Date.now() + WAIT_MS;
  for (;;) {
    const text = (await locator.textContent())?.trim() ?? '';
    if (pattern.test(text)) return;
    if (Date.now() > until) assert.match(text, pattern, reason);
    await new Promise((done) => setTimeout(done, 50));
  }
}

describe('widget of another system', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  let server;
  let site;
  before(async () => {
    server = createServer(serve);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    site = `http://localhost:${server.address().port}`;
  });
  after(() => server.close());

  for (const widget of [WALINE, ARTALK, ISSO, TWIKOO]) {
    test(`${widget.name}: posts, answers, likes, counts, and has it all again`, async () => {
      const path = `/${newText(widget.name).replaceAll(' ', '-')}/`;
      pages.set(path, widget.html(path));
      const context = await newContext({ viewport: DESKTOP });
      try {
        const page = await context.newPage();
        page.setDefaultTimeout(WAIT_MS);
        const problems = [];
        page.on('pageerror', (error) => problems.push(error.message));
        await page.goto(site + path);
        const [root, reply] = [newText('Root'), newText('Reply')];
        await widget.post(
          page,
          `${root} **bold** <img src=x onerror="document.title='taken over'">`,
        );
        const id = await shown(page, widget, root);
        await widget.reply(page, id, reply);
        await shown(page, widget, reply);
        await widget.like(page, id);
        await waitForText(widget.likes(page, id), /1/, 'one like');
        if (PICTURES)
          await page.screenshot({ path: join(PICTURES, `${widget.name}.png`), fullPage: true });

        await page.reload();
        await shown(page, widget, root);
        await shown(page, widget, reply);
        await waitForText(widget.likes(page, id), /1/, 'the like is still there');
        await waitForText(page.locator(widget.count).first(), /\b2\b/, 'two comments');
        assert.equal(await page.locator('strong', { hasText: /^bold$/ }).count(), 1, 'Markdown');
        assert.equal(await page.title(), 'A blog', 'nothing of a comment runs');

        const later = [];
        for (let number = 0; number < (widget.roots ?? 2); number += 1) {
          later.push(newText('Later'));
          await widget.post(page, later.at(-1));
          await shown(page, widget, later.at(-1));
        }
        await page.reload();
        await shown(page, widget, later.at(-1));
        assert.equal(await find(page, widget, root).count(), 0, 'it is on the next page');
        await page.locator(widget.more).click();
        await shown(page, widget, root);
        assert.deepEqual(problems, []);
      } finally {
        await context.close();
      }
    });
  }
});
