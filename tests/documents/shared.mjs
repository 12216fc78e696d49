// What the pages share: a server, a browser, and comments that are there before.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { chromium } from 'playwright-core';

import { SECRETS, startServer, token } from '../edge/gailou.mjs';
import { INHERITED } from './page.mjs';

const TYPES = { '.json': 'application/json', '.js': 'text/javascript', '.webp': 'image/png' };
const WAIT_MS = 20_000;
/** What documents have in the place of a server. */
const PLACEHOLDER = /https:\/\/comments\.example(\.com)?(?![\w.])/g;
/** The address that a page without a subject says that it has. */
const CANONICAL = 'https://blog.example/2020/hello/';
const SUBJECTS = ['article/hello', 'article/blog.example/2020/hello'];
/** In a comment of each of them. */
export const TEXT = 'Written before the page was opened';

export async function startShared() {
  const folder = await mkdtemp(join(tmpdir(), 'gailou-documents-'));
  const parameters = ['--bind', '127.0.0.1:0', '--data', join(folder, 'data')];
  const server = await startServer(process.env.E2E_GAILOU, parameters, {
    ...INHERITED,
    GAILOU_TOKEN_SECRET: SECRETS.TOKEN_SECRET,
    GAILOU_LIMITS: 'off',
    GAILOU_WEBHOOKS__ALLOW_PRIVATE: 'true',
  });
  const browser = await chromium.launch({
    executablePath: process.env.E2E_CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu'],
  });
  const shared = {
    url: server.url,
    secret: SECRETS.TOKEN_SECRET,
    member: token('7', 'Ann'),
    admin: token('1', 'Root', 'admin'),
    call: (method, path, options) => call(server.url, method, path, options),
    withServer: (text) => text.replaceAll(PLACEHOLDER, server.url),
    show: (html, steps, options) => show(browser, shared, html, steps, options),
    async stop() {
      await browser.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
  for (const subject of SUBJECTS) await post(shared, subject, TEXT);
  return shared;
}

/** A call of the interface, which must succeed; its answer. */
export async function call(url, method, path, { token: by, json } = {}) {
  const headers = {
    ...(by && { authorization: `Bearer ${by}` }),
    'content-type': 'application/json',
  };
  const answer = await fetch(url + path, { method, headers, body: json && JSON.stringify(json) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

export function pathOf(subject) {
  const [kind, ...key] = subject.split('/');
  return `/v1/subjects/${kind}/${encodeURIComponent(key.join('/'))}`;
}

export const post = ({ url, member }, subject, content) =>
  call(url, 'POST', `${pathOf(subject)}/comments`, { token: member, json: { content } });

/**
 * Opens a page of a site with this HTML, in which the server is the real one; `files` are the others of the site by their
 * paths, and `route` may answer for other hosts. What the page throws fails the test.
 */
async function show(
  browser,
  shared,
  html,
  steps,
  { files = {}, path = '/2020/hello/', route } = {},
) {
  const body = `<!doctype html><title>Hello</title><link rel="canonical" href="${CANONICAL}">${shared.withServer(html)}`;
  const site = createServer((request, answer) => {
    const [name] = request.url.split('?');
    const file = name === path ? body : files[name];
    const type = TYPES[extname(name)] ?? 'text/html; charset=utf-8';
    answer.writeHead(file === undefined ? 404 : 200, { 'content-type': type });
    answer.end(file);
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  const context = await browser.newContext({ locale: 'en-US' });
  try {
    await route?.(context);
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const problems = [];
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(`http://127.0.0.1:${site.address().port}${path}`);
    await steps(page);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
    site.close();
    site.closeAllConnections();
  }
}

/** The comments that were there before are on the page. */
export const showsComments = (page) =>
  page.locator('gailou-comments').getByText(TEXT, { exact: true }).first().waitFor();
