// Bundles a page's script as its author would, with the frameworks of package.json.

import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { compile } from 'svelte/compiler';

const REPOSITORY_ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A module `./app.svelte` with this source. */
const svelteFile = (source) => ({
  name: 'svelte-file',
  setup(build) {
    build.onResolve({ filter: /\.svelte$/ }, ({ path }) => ({ path, namespace: 'svelte' }));
    build.onLoad({ filter: /./, namespace: 'svelte' }, () => ({
      contents: compile(source, { generate: 'client', filename: 'app.svelte' }).js.code,
      resolveDir: REPOSITORY_ROOT,
    }));
  },
});

/** `alias` names packages by other packages, `svelte` is the source of `./app.svelte`. */
export async function bundle(contents, { alias = {}, svelte } = {}) {
  const { outputFiles } = await esbuild.build({
    stdin: { contents, resolveDir: REPOSITORY_ROOT, loader: 'jsx' },
    bundle: true,
    write: false,
    format: 'iife',
    jsx: 'transform',
    alias,
    conditions: ['browser', 'production'],
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: svelte ? [svelteFile(svelte)] : [],
  });
  return outputFiles[0].text;
}
