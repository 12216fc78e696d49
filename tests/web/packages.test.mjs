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
import { BASE, skipWithout } from './support/environment.mjs';
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
  import { type Comment, createGailouClient, newIdempotencyKey } from '@gailou/client';
  const client = createGailouClient({ baseUrl: 'BASE', token: () => window.token });
  const [type = '', key = ''] = window.subject.split('/');
  const params = { path: { type, key } };
  async function main() {
    const guest = await client.POST('/v1/guests', { body: { name: 'Client' } });
    window.token = guest.data?.token ?? '';
    const header = { 'Idempotency-Key': newIdempotencyKey() };
    const post = () => client.POST('/v1/subjects/{type}/{key}/comments', {
      params: { ...params, header },
      body: { content: 'From a client' },
    });
    const posted: Comment | undefined = (await post()).data;
    const again = (await post()).data;
    const { data } = await client.GET('/v1/subjects/{type}/{key}', { params });
    const wrong = await client.GET('/v1/comments/{id}', { params: { path: { id: '1' } } });
    document.title = [posted?.id === again?.id, data?.comments, wrong.error?.code].join(' ');
  }
  // @ts-expect-error a path that the server does not have
  client.GET('/v1/nothing');
  main();
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
  links.push(join(ROOT, 'packages/client/node_modules/openapi-fetch'));
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
  const globals = 'interface Window { subject: string; token: string }';
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

  test('client.ts posts once and reads', { skip }, async () => {
    const subject = newSubject();
    const html = `<title>A site</title><script>window.subject = '${subject}'</script>
      <script type="module" src="/client.js"></script>`;
    await withHostPage({ html, scripts: scripts['client.ts'] }, async (page) => {
      await page.waitForFunction(() => document.title === 'true 1 comment_not_found');
    });
  });
});
