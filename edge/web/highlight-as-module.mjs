/** A plugin of esbuild: the library that colours code becomes a module, so that no other file needs what CommonJS needs. */

import { readFile } from 'node:fs/promises';

const EXPORT = 'module.exports = highlight;';

export const highlightAsModule = {
  name: 'highlight-as-module',
  setup(build) {
    build.onLoad({ filter: /highlight\.js[\\/]lib[\\/]core\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes(EXPORT)) return { errors: [{ text: `${path} has no "${EXPORT}"` }] };
      return { contents: text.replace(EXPORT, 'export default highlight;'), loader: 'js' };
    });
  },
};
