// The recipes, each rendered by its generator, and shown in a browser with the comments of a real server.
//
//   E2E_GAILOU    the origin's program; without it pages are rendered, and not shown
//   E2E_CHROMIUM  the browser
//   RECIPES=all   a generator that is missing fails the test: `make examples`; else it is skipped

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const EXAMPLES = fileURLToPath(new URL('.', import.meta.url));
/** Where scripts/setup.sh installs generators, each in a folder of its own. */
const TOOLS = process.env.RECIPE_TOOLS || join(EXAMPLES, '../.tools/recipes');
const GAILOU = process.env.E2E_GAILOU;
const MUST_RUN = process.env.RECIPES === 'all';
const SECRET = 'a-secret-of-this-test-of-32-bytes';
/** What the recipes have in the place of a server. */
const PLACEHOLDER = /https:\/\/comments\.example/g;
const WAIT_MS = 30_000;
/** The slowest generator on a slow machine. */
const RENDER_TIMEOUT_MS = 300_000;

const run = promisify(execFile);

/** `output` is where the pages are, `page` the one with comments, and `index` one with a number of them. */
const RECIPES = [
  {
    name: 'mkdocs',
    tool: join(TOOLS, 'mkdocs/bin/mkdocs'),
    command: ['build', '--quiet'],
    output: 'site',
    page: 'hello/index.html',
    subject: 'article/hello',
  },
  {
    name: 'hugo',
    tool: 'hugo',
    command: ['--quiet'],
    output: 'public',
    page: 'posts/hello/index.html',
    subject: 'article/posts/hello',
    index: 'index.html',
  },
  {
    name: 'jekyll',
    tool: 'jekyll',
    command: ['build', '--quiet', '--disable-disk-cache'],
    output: '_site',
    page: '2026/01/01/hello.html',
    subject: 'article/2026/01/01/hello',
    index: 'index.html',
  },
  {
    name: 'hexo',
    tool: join(TOOLS, 'hexo/node_modules/.bin/hexo'),
    command: ['generate', '--silent'],
    output: 'public',
    page: 'hello/index.html',
    subject: 'article/hello',
    index: 'index.html',
  },
  {
    name: 'vitepress',
    tool: join(TOOLS, 'vitepress/node_modules/.bin/vitepress'),
    command: ['build'],
    output: '.vitepress/dist',
    page: 'hello.html',
    subject: 'article/hello',
  },
  {
    name: 'astro',
    tool: join(TOOLS, 'astro/node_modules/.bin/astro'),
    command: ['build'],
    output: 'dist',
    page: 'posts/hello/index.html',
    subject: 'article/posts/hello',
  },
  {
    name: 'next',
    tool: join(TOOLS, 'next/node_modules/.bin/next'),
    command: ['build'],
    output: 'out',
    page: 'posts/hello.html',
    subject: 'article/posts/hello',
  },
  {
    name: 'nuxt',
    tool: join(TOOLS, 'nuxt/node_modules/.bin/nuxt'),
    command: ['generate'],
    output: '.output/public',
    page: 'posts/hello/index.html',
    subject: 'article/posts/hello',
    index: 'index.html',
  },
];

const TYPES = {
  css: 'text/css',
  html: 'text/html',
  js: 'text/javascript',
  json: 'application/json',
};

function isInstalled(tool) {
  if (tool.includes('/')) return existsSync(tool);
  return process.env.PATH.split(delimiter).some((folder) => existsSync(join(folder, tool)));
}

const skipWithout = (tool) =>
  MUST_RUN || isInstalled(tool) ? false : `${tool} is not installed: see docs/testing.md`;

/** Empty folders, which the end removes. */
const folders = [];
async function newFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'gailou-recipe-'));
  folders.push(folder);
  return folder;
}

/** A server for all recipes, and a browser. */
let started;
async function startOnce() {
  const folder = await newFolder();
  const child = spawn(GAILOU, ['--bind', '127.0.0.1:0', '--data', join(folder, 'data')], {
    env: { ...process.env, GAILOU_TOKEN_SECRET: SECRET, GAILOU_LIMITS: 'off' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = await once(child.stdout, 'data');
  const url = String(line).match(/http:\/\/\S+/)[0];
  const executablePath = process.env.E2E_CHROMIUM || '/usr/bin/chromium';
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu'],
  });
  return { child, url, browser };
}
const start = () => {
  started ??= startOnce();
  return started;
};

after(async () => {
  if (started) {
    const { child, browser } = await started;
    await browser.close();
    child.kill();
    await once(child, 'exit');
  }
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function post(url, subject, content, token) {
  const [type, ...key] = subject.split('/');
  const path = `/v1/subjects/${type}/${encodeURIComponent(key.join('/'))}/comments`;
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ content }),
  });
  const comment = await response.json();
  assert.equal(response.status, 201, JSON.stringify(comment));
  return comment;
}

async function guestToken(url) {
  const response = await fetch(`${url}/v1/guests`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"name":"A reader"}',
  });
  return (await response.json()).token;
}

/** Serves the pages of a folder, with the address of a real server in them. */
async function serve(folder, url) {
  const server = createServer(async ({ url: asked }, answer) => {
    const name = decodeURIComponent(new URL(asked, 'http://site').pathname);
    try {
      const text = await readFile(join(folder, name));
      const type = TYPES[name.split('.').at(-1)] ?? 'application/octet-stream';
      answer.setHeader('content-type', type);
      answer.end(/^text|json$/.test(type) ? String(text).replace(PLACEHOLDER, url) : text);
    } catch {
      answer.statusCode = 404;
      answer.end();
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, site: `http://localhost:${server.address().port}` };
}

/** Opens the pages: the comments of the subject are on one, their number on the other. */
async function assertShown(folder, { page: name, index, subject }) {
  const { url, browser } = await start();
  const text = `Written before ${subject} ${Math.random()}`;
  await post(url, subject, text, await guestToken(url));
  const { server, site } = await serve(folder, url);
  const page = await browser.newPage();
  page.setDefaultTimeout(WAIT_MS);
  try {
    await page.goto(`${site}/${name}`);
    await page.locator('gailou-comments').scrollIntoViewIfNeeded();
    await page.locator('gailou-comments').getByText(text).waitFor();
    if (!index) return;
    await page.goto(`${site}/${index}`);
    const count = page.locator(`[data-gailou-count="${subject}"]`);
    await count.filter({ hasText: /^[1-9]\d*$/ }).waitFor();
  } finally {
    await page.close();
    server.close();
    server.closeAllConnections();
  }
}

describe('recipes', { concurrency: 1 }, () => {
  for (const recipe of RECIPES) {
    const { name, tool, command, output, page, index, subject } = recipe;
    test(`${name} renders a page with comments`, { skip: skipWithout(tool) }, async () => {
      // Beside its packages, where it has some: bundlers do not follow a link out of a site.
      const tools = join(TOOLS, name);
      const folder = existsSync(join(tools, 'node_modules'))
        ? tools
        : join(await newFolder(), name);
      await rm(join(folder, output), { recursive: true, force: true });
      await cp(join(EXAMPLES, name), folder, { recursive: true });
      const env = {
        ...process.env,
        CI: '1',
        NEXT_TELEMETRY_DISABLED: '1',
        ASTRO_TELEMETRY_DISABLED: '1',
      };
      await run(tool, command, { cwd: folder, env, timeout: RENDER_TIMEOUT_MS });
      const html = await readFile(join(folder, output, page), 'utf8');
      assert.match(html, new RegExp(`subject="?${subject}["> ]`), 'the subject is in the HTML');
      assert.match(html, /https:\/\/comments\.example\/gailou\.js/);
      if (index) {
        const list = await readFile(join(folder, output, index), 'utf8');
        assert.match(list, new RegExp(`data-gailou-count="?${subject}["> ]`));
      }
      if (GAILOU) await assertShown(join(folder, output), recipe);
    });
  }

  const wordpress = join(EXAMPLES, 'wordpress');
  const render = (...parameters) => run('php', [join(wordpress, 'render.php'), ...parameters]);

  test('wordpress: the plugin is PHP, and shows comments in classic themes and in those of blocks', {
    skip: skipWithout('php'),
  }, async () => {
    await run('php', ['-l', join(wordpress, 'gailou.php')]);
    const guest = await render('https://comments.example/', SECRET, '');
    const { template, block } = JSON.parse(guest.stderr);
    assert.match(template, /\/index\.php$/, 'the template of the theme is left out');
    assert.equal(block, guest.stdout);
    assert.equal(
      guest.stdout,
      '<gailou-comments subject="article/7" api="https://comments.example" lang="de-DE"></gailou-comments>' +
        '<script src="https://comments.example/gailou.js" async></script>',
    );
    const without = JSON.parse((await render('', '', 'Ann')).stderr);
    assert.equal(without.template, 'the-template-of-the-theme', 'without a server it does nothing');
    if (!GAILOU) return;
    const folder = await newFolder();
    await writeFile(join(folder, 'index.html'), `<!doctype html>${guest.stdout}`);
    await assertShown(folder, { page: 'index.html', subject: 'article/7' });
  });

  test('wordpress: server takes the token of a member', {
    skip: skipWithout('php') || (GAILOU ? false : 'E2E_GAILOU is not set'),
  }, async () => {
    const { url } = await start();
    const { stdout } = await render(url, SECRET, 'Jörg "J" <b>');
    const [, token] = stdout.match(/ token="([^"]+)"/);
    const { author } = await post(url, 'article/7', 'From a member', token);
    assert.deepEqual([author.id, author.name, author.role], ['42', 'Jörg "J" <b>', null]);
  });
});
