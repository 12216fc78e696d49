/**
 * Builds the packages for npm into their folders `dist`.
 *
 *   node packages/build.mjs               builds them
 *   node packages/build.mjs --pack DIR    and puts what would be published into a folder, as npm does
 */

import { execFile } from 'node:child_process';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { highlightAsModule } from '../edge/web/highlight-as-module.mjs';
import { styleSheetAsText } from '../edge/web/style-sheet-as-text.mjs';

const PACKAGES = ['gailou', 'react', 'vue', 'client'];
/** Their code is that of the compiler: it only takes the types away. */
const COMPILED = ['react', 'vue', 'client'];
const TSC = join(import.meta.dirname, '../node_modules/.bin/tsc');

const { values: flags } = parseArgs({ options: { pack: { type: 'string' } } });
const run = promisify(execFile);
const folder = (name) => join(import.meta.dirname, name);

/** The elements, readable: who bundles a site minifies it. What is loaded later stays a file of its own. */
function buildElements() {
  return esbuild.build({
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
    outdir: join(folder('gailou'), 'dist'),
    entryPoints: [join(folder('gailou'), 'src/index.ts'), join(folder('gailou'), 'src/server.ts')],
    plugins: [styleSheetAsText, highlightAsModule],
  });
}

async function build() {
  await Promise.all(
    PACKAGES.map((name) => rm(join(folder(name), 'dist'), { recursive: true, force: true })),
  );
  await buildElements();
  for (const name of COMPILED) await run(TSC, ['-p', folder(name)]);
  for (const name of PACKAGES) {
    for (const license of ['LICENSE-MIT', 'LICENSE-APACHE']) {
      await copyFile(join(import.meta.dirname, '..', license), join(folder(name), 'dist', license));
    }
  }
  for (const library of ['highlight.js', 'temml']) {
    const license = join(import.meta.dirname, '../node_modules', library, 'LICENSE');
    await copyFile(license, join(folder('gailou'), `dist/LICENSE-${library}`));
  }
}

try {
  await build();
  for (const name of flags.pack ? PACKAGES : []) {
    const options = { cwd: folder(name) };
    const { stdout } = await run('npm', ['pack', '--pack-destination', flags.pack], options);
    console.log(stdout.trim());
  }
} catch (error) {
  console.error(`${error.stdout ?? ''}${error.stderr ?? error.stack}`);
  process.exitCode = 1;
}
