/** A plugin of esbuild: a module that imports a style sheet gets its text, bundled and minified. */

import { join } from 'node:path';
import * as esbuild from 'esbuild';

/** Without the spaces that esbuild leaves in custom properties and conditions. No text of a `content` has such. */
const withoutSpaces = (css) => css.trim().replace(/(?<=[(,:]) | (?=\))/g, '');

export const styleSheetAsText = {
  name: 'style-sheet-as-text',
  setup(build) {
    build.onResolve({ filter: /\.css$/ }, ({ path, kind, resolveDir }) =>
      kind === 'import-statement'
        ? { path: join(resolveDir, path), namespace: 'style-sheet' }
        : undefined,
    );
    build.onLoad({ filter: /./, namespace: 'style-sheet' }, async ({ path }) => {
      const { minify, target } = build.initialOptions;
      const { outputFiles } = await esbuild.build({
        entryPoints: [path],
        bundle: true,
        minify,
        target,
        legalComments: 'none',
        write: false,
      });
      const { text } = outputFiles[0];
      return { contents: minify ? withoutSpaces(text) : text, loader: 'text' };
    });
  },
};
