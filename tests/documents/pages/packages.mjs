// The pages of the packages: what they show runs with the packages as they are built, or is compiled by its own compiler.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';

import { adapt, ROOT } from '../page.mjs';
import { post, showsComments } from '../shared.mjs';

const PACKAGES = join(ROOT, 'packages');
const MODULES = join(ROOT, 'node_modules');
/** Vue with its compiler, which widgets of other systems need. */
const VUE_MODULES = join(ROOT, '.tools/widgets/node_modules');
const WHEELS = join(ROOT, '.tools/python-client/wheels');
const run = promisify(execFile);

/** The packages are built once: by packages/README.md, which is followed first, or by the page that needs them. */
let built;
const build = () => (built ??= run('node', [join(PACKAGES, 'build.mjs')]));

export async function readme(page) {
  page.env.PWD = ROOT;
  built = page.sh({ changes: [['--pack /tmp', `--pack '${page.folder}'`]] });
  await built;
  const packed = readdirSync(page.folder).filter((name) => name.endsWith('.tgz'));
  assert.equal(packed.length, 4);
}

/** The files of a site whose script is this module, with the packages that were built. */
async function bundle(page, source, loader, plugins = []) {
  await build();
  const { outputFiles } = await esbuild.build({
    stdin: { contents: source, loader, resolveDir: page.folder },
    bundle: true,
    splitting: true,
    format: 'esm',
    outdir: page.folder,
    write: false,
    jsx: 'automatic',
    define: {
      'process.env.NODE_ENV': '"production"',
      __VUE_OPTIONS_API__: 'true',
      __VUE_PROD_DEVTOOLS__: 'false',
    },
    alias: {
      gailou: join(PACKAGES, 'gailou/dist/index.js'),
      '@gailou/react': join(PACKAGES, 'react/dist/index.js'),
      '@gailou/vue': join(PACKAGES, 'vue/dist/index.js'),
      vue: join(VUE_MODULES, 'vue'),
      react: join(MODULES, 'react'),
      'react-dom': join(MODULES, 'react-dom'),
    },
    plugins,
    logLevel: 'silent',
  });
  return Object.fromEntries(
    outputFiles.map(({ path, text }) => [path.slice(page.folder.length), text]),
  );
}

/** Puts the script of a site on a page, which shows the comments. */
async function shows(shared, html, scripts, more = async () => {}) {
  const files = { '/comment-token': shared.member };
  for (const [name, text] of Object.entries(scripts)) files[name] = shared.withServer(text);
  const steps = async (site) => {
    await showsComments(site);
    await more(site);
  };
  await shared.show(`${html}<script type="module" src="/stdin.js"></script>`, steps, { files });
}

const showsCount = (site) =>
  site
    .locator('gailou-count')
    .filter({ hasText: /^[1-9]/ })
    .waitFor();

export async function elements(page, shared) {
  const script = await bundle(page, page.next('js'), 'js');
  await shows(shared, page.next('html'), script);
}

export async function react(page, shared) {
  const source = `${page.next('jsx')}
    import { createRoot } from 'react-dom/client';
    createRoot(document.getElementById('app')).render(<Post slug="hello" />);`;
  await shows(shared, '<div id="app"></div>', await bundle(page, source, 'jsx'), showsCount);
}

export async function vue(page, shared) {
  const { compileScript, parse } = createRequire(join(VUE_MODULES, 'x'))('@vue/compiler-sfc');
  const { descriptor, errors } = parse(page.next('vue'));
  assert.deepEqual(errors, []);
  const { content } = compileScript(descriptor, { id: 'post', inlineTemplate: true });
  const source = `${content.replace('export default', 'const Post =')}
    import { createApp } from 'vue';
    const app = createApp(Post, { slug: 'hello' });
    app.config.compilerOptions.isCustomElement = (name) => name.startsWith('gailou-');
    app.mount('#app');`;
  await shows(shared, '<div id="app"></div>', await bundle(page, source, 'js'), showsCount);
}

export async function client(page, shared) {
  await build();
  const modules = join(page.folder, 'node_modules/@gailou');
  mkdirSync(modules, { recursive: true });
  symlinkSync(join(PACKAGES, 'client'), join(modules, 'client'));
  writeFileSync(join(page.folder, 'package.json'), '{"type":"module"}');
  const [create, sign, read, write, get] = Array.from({ length: 5 }, () => page.next('ts'));
  const blocks = [
    adapt(sign, [['const token =', 'token =']]),
    adapt(create, [['const client =', 'client =']]),
    write,
    read,
    get,
  ].map((text) => shared.withServer(text));
  const imports = blocks.flatMap((text) => text.match(/^import .*$/gm) ?? []);
  const bodies = blocks.map((text) => `{\n${text.replaceAll(/^import .*$/gm, '')}}`);
  const source = `${imports.join('\n')}
    const secret: string = ${JSON.stringify(shared.secret)};
    let token: string;
    let client: ReturnType<typeof createGailouClient>;
    ${bodies.join('\n')}
    export {};`;
  writeFileSync(join(page.folder, 'site.ts'), source);
  const options = [
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--strict',
    '--noEmit',
    '--skipLibCheck',
  ];
  const types = ['--types', 'node', '--typeRoots', join(MODULES, '@types')];
  const tsc = join(MODULES, '.bin/tsc');
  await run(tsc, [...options, ...types, 'site.ts'], { cwd: page.folder }).catch(({ stdout }) =>
    assert.fail(stdout),
  );
  const strip = ['--experimental-strip-types', '--no-warnings', 'site.ts'];
  const { stdout } = await run('node', strip, { cwd: page.folder });
  assert.match(stdout, /^Ann Hello$/m);
  assert.doesNotMatch(stdout, /_/, 'no error has a code');
}

export async function python(page, shared) {
  await page.sh();
  const { id } = await post(shared, 'article/hello', 'For the client of Python');
  const [sign, read, write, call] = Array.from({ length: 4 }, () => page.next('python'));
  const source = [
    `secret = ${JSON.stringify(shared.secret)}`,
    sign,
    read,
    adapt(write, [['3159632956621393920', id]]),
    'with Client("https://comments.example", token) as client:',
    call.replaceAll(/^(?=.)/gm, '    '),
    'print(subject["key"])',
  ];
  const wheels = readdirSync(WHEELS).filter((name) => name.endsWith('-none-any.whl'));
  const path = [join(PACKAGES, 'python'), ...wheels.map((name) => join(WHEELS, name))].join(':');
  const env = { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await run('python3', ['-c', shared.withServer(source.join('\n'))], { env });
  assert.match(stdout, /^Ann For the client of Python$/m);
  assert.match(stdout, /^hello$/m);
}

export function rust(page) {
  const manifest = '[package]\nname = "site"\nversion = "0.1.0"\nedition = "2024"\n[workspace]\n';
  const dependencies = adapt(page.next('toml'), [['gailou/packages/rust', join(PACKAGES, 'rust')]]);
  writeFileSync(join(page.folder, 'Cargo.toml'), manifest + dependencies);
  mkdirSync(join(page.folder, 'src'));
  writeFileSync(join(page.folder, 'src/lib.rs'), '');
  copyFileSync(join(ROOT, 'Cargo.lock'), join(page.folder, 'Cargo.lock'));
  // It resolves the package and its feature, from what cargo has here.
  const metadata = ['metadata', '--offline', '--format-version', '1'];
  const { packages } = JSON.parse(
    execFileSync('cargo', metadata, {
      cwd: page.folder,
      maxBuffer: 1 << 27,
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  assert.ok(packages.some(({ name }) => name === 'rustls'));
  for (const _ of Array(3)) page.next('rust');
  const library = readFileSync(join(PACKAGES, 'rust/src/lib.rs'), 'utf8');
  assert.match(
    library,
    /^#!\[doc = include_str!\("\.\.\/README\.md"\)\]$/m,
    'cargo test compiles the blocks in Rust',
  );
}
