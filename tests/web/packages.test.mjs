// The packages for npm, as who installs them gets them: what is packed is installed in an empty folder, a program with each
// is checked by the compiler and bundled, and runs in a browser against the server.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { newSubject } from './support/api.mjs';
import { BASE, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { withHostPage } from './support/host-page.mjs';
import { assertVisible, mainForm, newText, sendForm } from './support/page.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

const ELEMENT = `
  import { type GailouComments, setServer } from 'gailou';
  setServer('BASE');
  const element: GailouComments = document.createElement('gailou-comments');
  element.subject = window.subject;
  element.live = 'off';
  element.addEventListener('gailou:count', ({ detail }) => document.title = 'n=' + detail.count.toFixed());
  document.getElementById('app')?.append(element);
  // @ts-expect-error no sort has this name
  element.sort = 'loudest';
  element.sort = 'new';
`;
const REACT = `
  import { GailouComments, GailouCount, setServer } from '@gailou/react';
  import { createElement as h, useState } from 'react';
  import type {} from 'gailou/jsx';
  // @ts-ignore the types of react-dom are not installed
  import { createRoot } from 'react-dom/client';
  setServer('BASE');
  function App() {
    const [count, setCount] = useState(-1);
    document.title = 'n=' + count;
    return <>
      <GailouCount subject={window.subject} className="count" />
      <GailouComments subject={window.subject} live={false} lang="en" onCount={(detail) => setCount(detail.count)} />
    </>;
  }
  // @ts-expect-error the subject is missing
  h(GailouComments, {});
  export const plain = <gailou-comments subject="article/x" theme="dark" />;
  createRoot(document.getElementById('app')).render(<App />);
`;
const VUE = `
  import { GailouComments, setServer } from '@gailou/vue';
  import { createApp, h, ref } from 'vue';
  setServer('BASE');
  createApp({
    setup() {
      const count = ref(-1);
      return () => {
        document.title = 'n=' + count.value;
        return h(GailouComments, {
          subject: window.subject,
          live: false,
          lang: 'en',
          onCount: (detail: { subject: string; count: number }) => { count.value = detail.count; },
        });
      };
    },
  }).mount('#app');
  // @ts-expect-error no theme has this name
  h(GailouComments, { subject: 'article/x', theme: 'sepia' });
`;
const CLIENT = `
  import { createGailouClient, GailouError, postComment, readComments, readReplies } from '@gailou/client';
  const sent: Request[] = [];
  // What becomes of the next requests; null is an answer of the server.
  const faults: ('answer lost' | 'limited' | 'busy' | 'cursor expired' | null)[] = [];
  const problem = (status: number, code: string, headers = {}) => Response.json({ code }, { status, headers });
  const client = createGailouClient({
    baseUrl: 'BASE',
    token: () => window.token,
    async fetch(request) {
      sent.push(request);
      const fault = faults.shift();
      if (fault === 'limited') return problem(429, 'rate_limited', { 'Retry-After': '5' });
      if (fault === 'busy') return problem(503, 'overloaded');
      if (fault === 'cursor expired') return problem(410, 'cursor_expired');
      const response = await window.fetch(request);
      if (fault === 'answer lost') throw new TypeError('the connection broke');
      return response;
    },
  });
  // Waits are recorded, and take no time.
  const waits: number[] = [];
  const start = setTimeout;
  window.setTimeout = ((then: () => void, ms = 0) => {
    waits.push(ms);
    return start(then);
  }) as typeof setTimeout;
  const textsOf = async (comments: ReturnType<typeof readComments>) => {
    const texts: string[] = [];
    for await (const comment of comments) texts.push(comment.content);
    return texts;
  };
  async function main() {
    faults.push('answer lost', 'limited', 'busy');
    const first = await postComment(client, window.subject, { content: '1' });
    const keys = new Set(sent.map(({ headers }) => headers.get('Idempotency-Key')));
    const post = { attempts: sent.length, keys: keys.size, waits: [...waits], author: first.author };
    for (const content of ['2', '3', '4', '5']) await postComment(client, window.subject, { content });

    const before = sent.length;
    faults.push(null, null, 'cursor expired');
    const texts = await textsOf(readComments(client, window.subject, { sort: 'old', pageSize: 2 }));
    const caches = sent.slice(before).map(({ cache }) => cache);

    await postComment(client, window.subject, { content: 'A reply', parent_id: first.id });
    const replies = await textsOf(readReplies(client, first.id));

    const attempts = sent.length;
    const refusal: unknown = await postComment(client, window.subject, { content: ' ' }).catch((error) => error);
    const refused = refusal instanceof GailouError && {
      code: refusal.code,
      fields: refusal.errors.map(({ field }) => field),
      attempts: sent.length - attempts,
    };
    const { error } = await client.GET('/v1/comments/{id}', { params: { path: { id: '1' } } });
    window.result = { post, texts, caches, replies, refused, code: error?.code };
  }
  main();
  export const wrong = [
    // @ts-expect-error a path that the server does not have
    () => client.GET('/v1/nothing'),
    // @ts-expect-error replies have no such sort
    () => readReplies(client, '1', { sort: 'controversial' }),
  ];
`;
const SIGN = `
  import { signMemberToken } from '@gailou/client';
  const record = { id: '7', name: 'Ann', level: 3, password: 'secret' };
  const sign = (secret, lifetimeSeconds) => signMemberToken(record, secret, { lifetimeSeconds });
  const nameOf = (error) => error.name;
  const day = 86_400;
  console.log(JSON.stringify({
    token: await sign(process.env.E2E_TOKEN_SECRET, 30 * day),
    refused: [
      await sign(process.env.E2E_TOKEN_SECRET, 30 * day + 1).catch(nameOf),
      await sign(process.env.E2E_TOKEN_SECRET, 0).catch(nameOf),
      await sign('short', day).catch(nameOf),
    ],
  }));
`;

const PROGRAMS = { 'element.ts': ELEMENT, 'react.tsx': REACT, 'vue.ts': VUE, 'client.ts': CLIENT };

let folder;
const scripts = {};

/** Installs what is packed, without the network: what the packages need is that of the repository. */
async function install() {
  await run('node', [join(ROOT, 'packages/build.mjs'), '--pack', folder]);
  const tarballs = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  assert.equal(tarballs.length, 4);
  const needed = ['react', 'react-dom', '@types/react', '@vue/runtime-dom'];
  const links = needed.map((name) => join(ROOT, 'node_modules', name));
  for (const name of ['openapi-fetch', 'jose']) {
    links.push(join(ROOT, 'packages/client/node_modules', name));
  }
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const options = [
    '--offline',
    '--legacy-peer-deps',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
  ];
  const packed = tarballs.map((name) => `./${name}`);
  await run('npm', ['install', ...options, ...packed, ...links], { cwd: folder });
  // Vue without its compiler.
  const vue = join(folder, 'node_modules/vue');
  await mkdir(vue);
  await writeFile(join(vue, 'package.json'), '{"name":"vue","type":"module","main":"index.js"}');
  for (const name of ['index.js', 'index.d.ts']) {
    await writeFile(join(vue, name), "export * from '@vue/runtime-dom';");
  }
}

async function writePrograms() {
  for (const [name, source] of Object.entries(PROGRAMS)) {
    await writeFile(join(folder, name), source.replace('BASE', BASE));
  }
  const globals = 'interface Window { subject: string; token: string; result: unknown }';
  await writeFile(join(folder, 'globals.d.ts'), globals);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    jsx: 'react-jsx',
    types: [],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
}

describe('packages', () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gailou-packages-'));
    await install();
    await writePrograms();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('types of the client are those of the OpenAPI document', async () => {
    await run('node', [join(ROOT, 'packages/client/generate.mjs'), '--check']);
  });

  test('a program with each package has the right types, and no wrong one', async () => {
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    await run(tsc, ['-p', folder]).catch(({ stdout }) => assert.fail(stdout));
  });

  for (const name of Object.keys(PROGRAMS)) {
    test(`${name} is bundled`, async () => {
      const { outputFiles } = await esbuild.build({
        entryPoints: [join(folder, name)],
        bundle: true,
        splitting: true,
        format: 'esm',
        outdir: folder,
        write: false,
        jsx: 'automatic',
        define: { 'process.env.NODE_ENV': '"production"' },
        logLevel: 'silent',
      });
      const own = outputFiles.map(({ path, text }) => [path.slice(folder.length + 1), text]);
      scripts[name] = Object.fromEntries(own);
      assert.ok(
        own.length >= (name === 'client.ts' ? 1 : 10),
        'what is loaded later is a file of its own',
      );
    });
  }

  test('elements can be imported where pages are rendered', async () => {
    const source =
      "const { setServer } = await import('gailou'); setServer('https://c.example'); console.log('ok')";
    const { stdout } = await run('node', ['--input-type=module', '--eval', source], {
      cwd: folder,
    });
    assert.equal(stdout.trim(), 'ok');
  });

  const skip = skipWithout({ E2E_BASE: BASE });
  for (const name of ['element.ts', 'react.tsx', 'vue.ts']) {
    test(`${name} shows and posts comments`, { skip }, async () => {
      const subject = newSubject();
      const main = name.replace(/\.tsx?$/, '.js');
      const html = `<title>A site</title><div id="app"></div><script>window.subject = '${subject}'</script>
        <script type="module" src="/${main}"></script>`;
      await withHostPage({ html, scripts: scripts[name] }, async (page) => {
        const text = newText('From a package');
        await sendForm(mainForm(page), text, 'Post');
        await assertVisible(page.getByText(text), 'the comment');
        await page.waitForFunction(() => document.title === 'n=1');
        if (name === 'react.tsx') {
          await page.waitForFunction(() => document.querySelector('.count').textContent === '1');
        }
      });
    });
  }

  describe('client', {
    skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
  }, () => {
    let token;

    test('member is signed under Node, without what the token must not have', async () => {
      const options = { cwd: folder };
      const { stdout } = await run('node', ['--input-type=module', '--eval', SIGN], options);
      const signed = JSON.parse(stdout);
      assert.deepEqual(signed.refused, ['RangeError', 'RangeError', 'RangeError']);
      token = signed.token;
      const { iat, exp, ...claims } = JSON.parse(atob(token.split('.')[1]));
      assert.deepEqual(claims, { sub: '7', name: 'Ann', level: 3, aud: 'gailou' });
      assert.equal(exp - iat, 30 * 86_400);
    });

    test('program for a browser has nothing that signs', () => {
      assert.doesNotMatch(scripts['client.ts']['client.js'], /HS256/);
    });

    test('member posts once over faults, and reads each comment once to the end', async () => {
      const globals = { subject: newSubject(), token, result: null };
      const html = `<title>A site</title><script>Object.assign(window, ${JSON.stringify(globals)})</script>
        <script type="module" src="/client.js"></script>`;
      await withHostPage({ html, scripts: scripts['client.ts'] }, async (page) => {
        await page.waitForFunction(() => window.result);
        const { post, texts, caches, ...rest } = await page.evaluate(() => window.result);
        const { id, name, level } = post.author;
        assert.deepEqual({ id, name, level }, { id: '7', name: 'Ann', level: 3 });
        assert.deepEqual([post.attempts, post.keys], [4, 1]);
        const [first, asked, third] = post.waits;
        assert.ok(first >= 800 && first <= 1_200, `${first} ms`);
        assert.equal(asked, 5_000);
        assert.ok(third >= 3_200 && third <= 4_800, `${third} ms`);
        assert.deepEqual(texts, ['1', '2', '3', '4', '5']);
        const usual = ['default', 'default', 'default'];
        assert.deepEqual(caches, [...usual, 'reload', 'reload', 'reload']);
        assert.deepEqual(rest, {
          replies: ['A reply'],
          refused: { code: 'invalid_request', fields: ['content'], attempts: 1 },
          code: 'comment_not_found',
        });
      });
    });
  });
});
