/**
 * Builds `edge/web/dist`: what the Worker serves as static files. It works offline and takes well
 * under a second. A file whose content stays the same keeps its time, so nothing that depends on it
 * is built again.
 *
 *   npm run build            what is served
 *   npm run build -- --dev   the same, readable and with source maps
 */

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';
import { buildDocs } from './docs.mjs';

const SOURCE = join(import.meta.dirname, 'src');
const PUBLIC = join(import.meta.dirname, 'public');
const DIST = join(import.meta.dirname, 'dist');

/** The largest that a file may be, in bytes gzipped. */
const SIZE_BOUNDS = new Map([['console.js', 120_000]]);

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

/** A module that imports a style sheet gets its text, bundled and minified. */
const styleSheetAsText = {
  name: 'style-sheet-as-text',
  setup(build) {
    build.onResolve({ filter: /\.css$/ }, ({ path, kind, resolveDir }) =>
      kind === 'import-statement'
        ? { path: join(resolveDir, path), namespace: 'style-sheet' }
        : undefined,
    );
    build.onLoad({ filter: /./, namespace: 'style-sheet' }, async ({ path }) => {
      const options = { ...OPTIONS, sourcemap: false, entryPoints: [path] };
      const { outputFiles } = await esbuild.build(options);
      return { contents: outputFiles[0].text, loader: 'text' };
    });
  },
};

/** The files of a folder, as paths relative to it. */
async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** The files of `dist` by their path in it. */
async function buildFiles() {
  const files = new Map();
  for (const name of await filesIn(PUBLIC)) files.set(name, await readFile(join(PUBLIC, name)));
  const { outputFiles } = await esbuild.build({
    ...OPTIONS,
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
  // What the element loads when it is needed.
  const modules = await esbuild.build({
    ...OPTIONS,
    format: 'esm',
    entryPoints: [{ in: join(SOURCE, 'account/windows.ts'), out: 'account' }],
  });
  for (const { path, contents } of [...outputFiles, ...modules.outputFiles]) {
    files.set(relative(DIST, path), Buffer.from(contents));
  }
  return new Map([...files, ...(await buildDocs())]);
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

const files = await buildFiles();
await writeFiles(files);
const documents = [...files.keys()].filter((name) => /^docs\/.*\.html$/.test(name));
console.log(`docs             ${documents.length} pages`);
for (const [name, contents] of files) {
  if (/^docs\/.*\.(html|png|svg)$/.test(name)) continue;
  const gzipped = gzipSync(contents, { level: 9 }).length;
  console.log(`${name.padEnd(16)} ${contents.length} bytes, ${gzipped} gzipped`);
  const bound = SIZE_BOUNDS.get(name) ?? Number.POSITIVE_INFINITY;
  if (gzipped > bound && !flags.dev) {
    console.error(`${name} may have ${bound} bytes gzipped`);
    process.exitCode = 1;
  }
}
