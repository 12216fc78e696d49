/**
 * Builds `edge/web/dist`: what the Worker serves as static files. It works offline and takes well
 * under a second. A file whose content stays the same keeps its time, so nothing that depends on it
 * is built again.
 *
 *   npm run build            what is served
 *   npm run build -- --dev   the same, readable and with source maps
 */

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, parse, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';
import { buildDocs } from './docs.mjs';
import { highlightAsModule } from './highlight-as-module.mjs';
import { styleSheetAsText } from './style-sheet-as-text.mjs';

const SOURCE = join(import.meta.dirname, 'src');
const PUBLIC = join(import.meta.dirname, 'public');
const DIST = join(import.meta.dirname, 'dist');
const MODULES = join(import.meta.dirname, '../../node_modules');

/** The largest that everything may be that the console loads, in bytes gzipped. */
const CONSOLE_BOUND = 80_000;
/** The largest that everything may be that a page loads before its first comment: the script and the element. */
const FIRST_PART_BOUND = 16_000;
/** The largest that the texts of a language may be. */
const LANGUAGE_BOUND = 5_000;

const { values: flags } = parseArgs({ options: { dev: { type: 'boolean', default: false } } });

/** @type {import('esbuild').BuildOptions} */
const OPTIONS = {
  bundle: true,
  minify: !flags.dev,
  sourcemap: flags.dev,
  legalComments: 'none',
  target: 'es2022',
  format: 'iife',
  outdir: DIST,
  write: false,
  logLevel: 'warning',
  jsx: 'automatic',
  jsxImportSource: 'preact',
};

/** The modules that the element loads later, by their paths: what a dynamic import names. */
async function findParts() {
  const parts = new Set();
  for (const name of await filesIn(SOURCE)) {
    const text = await readFile(join(SOURCE, name), 'utf8');
    for (const [, path] of text.matchAll(/\bimport\('(\.[^']+)'\)/g)) {
      parts.add(join(SOURCE, dirname(name), path));
    }
  }
  return parts;
}

/**
 * Every part imports the whole element, which is there when a part is loaded. So esbuild makes one file of what the element
 * and its parts have in common, and not one for each combination of parts.
 */
const partsOfElement = {
  name: 'parts-of-element',
  async setup(build) {
    const parts = await findParts();
    const element = `import ${JSON.stringify(join(SOURCE, 'define.ts'))};`;
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) =>
      parts.has(path)
        ? { contents: `${element}\n${await readFile(path, 'utf8')}`, loader: 'ts' }
        : undefined,
    );
  },
};

/** `pt-br.ts`; the other files of the folder are no language. */
const LANGUAGE_SOURCE = /^[a-z]{2}(-[a-z]{2})?\.ts$/;

/** The files of the element, and the names of those that `gailou.js` loads. */
async function buildElement() {
  const { outputFiles, metafile } = await esbuild.build({
    ...OPTIONS,
    format: 'esm',
    splitting: true,
    metafile: true,
    entryPoints: [{ in: join(SOURCE, 'define.ts'), out: 'gailou/element' }],
    charset: 'utf8',
    chunkNames: 'gailou/[name]-[hash]',
    plugins: [styleSheetAsText, highlightAsModule, partsOfElement],
  });
  const fileWith = (name) => {
    const source = relative(process.cwd(), join(SOURCE, name));
    const [path] = Object.entries(metafile.outputs).find(([, { inputs }]) => inputs[source]);
    return `./${relative(DIST, path)}`;
  };
  // Chinese of the mainland comes first: its name is the start of another one.
  const languageFiles = [fileWith('text/zh.ts')];
  for (const name of await filesIn(join(SOURCE, 'languages'))) {
    if (LANGUAGE_SOURCE.test(name)) languageFiles.push(fileWith(`languages/${name}`));
  }
  return {
    outputFiles,
    elementFile: fileWith('element.ts'),
    loadersFile: fileWith('languages/loaders.ts'),
    languageFiles,
  };
}

/** The files of a folder, as paths relative to it. */
async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** The licences of what is bundled. */
async function licensesOf(libraries) {
  const texts = libraries.map(async (name) => {
    const license = await readFile(join(MODULES, name, 'LICENSE'), 'utf8');
    return `${name}\n\n${license.trim()}\n`;
  });
  return (await Promise.all(texts)).join('\n\n');
}

/** The files of `dist` by their path in it. */
async function buildFiles() {
  const files = new Map();
  for (const name of await filesIn(PUBLIC)) files.set(name, await readFile(join(PUBLIC, name)));
  files.set(
    'licenses.txt',
    Buffer.from(await licensesOf(['highlight.js', 'preact', 'temml', 'uplot'])),
  );
  const element = await buildElement();
  const { outputFiles } = await esbuild.build({
    ...OPTIONS,
    define: {
      ELEMENT_FILE: JSON.stringify(element.elementFile),
      LOADERS_FILE: JSON.stringify(element.loadersFile),
      LANGUAGE_FILES: JSON.stringify(element.languageFiles.map((file) => parse(file).name)),
    },
    entryPoints: [
      { in: join(SOURCE, 'gailou.ts'), out: 'gailou' },
      { in: join(SOURCE, 'demo/demo.ts'), out: 'demo' },
      { in: join(SOURCE, 'demo/demo.css'), out: 'demo' },
      { in: join(SOURCE, 'console/console.tsx'), out: 'console' },
      { in: join(SOURCE, 'console/console.css'), out: 'console' },
      { in: join(SOURCE, 'docs/docs.ts'), out: 'docs/docs' },
      { in: join(SOURCE, 'docs/docs.css'), out: 'docs/docs' },
    ],
    plugins: [styleSheetAsText],
  });
  for (const { path, contents } of [...element.outputFiles, ...outputFiles]) {
    files.set(relative(DIST, path), Buffer.from(contents));
  }
  return {
    files: new Map([...files, ...(await buildDocs())]),
    firstPart: ['gailou.js', relative('.', element.elementFile)],
    languages: element.languageFiles.map((file) => relative('.', file)),
  };
}

async function writeFiles(files) {
  await mkdir(DIST, { recursive: true });
  for (const name of await filesIn(DIST)) {
    if (!files.has(name)) await rm(join(DIST, name));
  }
  for (const [name, contents] of files) {
    const path = join(DIST, name);
    const before = await readFile(path).catch(() => null);
    if (before?.equals(contents)) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, contents);
  }
}

const { files, firstPart, languages } = await buildFiles();
await writeFiles(files);
const documents = [...files.keys()].filter((name) => /^docs\/.*\.html$/.test(name));
console.log(`docs             ${documents.length} pages`);
const gzippedSize = (name) => gzipSync(files.get(name), { level: 9 }).length;

function checkBound(name, size, bound) {
  if (size <= bound || flags.dev) return;
  console.error(`${name} may have ${bound} bytes gzipped, and has ${size}`);
  process.exitCode = 1;
}

/** A document and the files that it names. */
function withLoaded(name) {
  const named = String(files.get(name)).matchAll(/ (?:href|src)="\/([^"]+)"/g);
  return [name, ...Array.from(named, ([, path]) => path)];
}

for (const [name, contents] of files) {
  if (/^docs\/.*\.(html|png|svg)$/.test(name)) continue;
  const size = gzippedSize(name);
  console.log(`${name.padEnd(32)} ${contents.length} bytes, ${size} gzipped`);
}
const sizeOf = (names) => names.reduce((sum, name) => sum + gzippedSize(name), 0);
const consoleSize = sizeOf(withLoaded('console.html'));
console.log(`the console                      ${consoleSize} gzipped`);
checkBound('what the console loads', consoleSize, CONSOLE_BOUND);
const firstSize = sizeOf(firstPart);
console.log(`the first part                   ${firstSize} gzipped`);
checkBound('what is loaded before the first comment', firstSize, FIRST_PART_BOUND);
for (const name of languages) checkBound(name, gzippedSize(name), LANGUAGE_BOUND);
