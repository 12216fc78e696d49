import { defineConfig } from 'vitepress';

/** The comment server. */
const GAILOU = 'https://comments.example';

export default defineConfig({
  title: 'A site',
  lang: 'en',
  head: [['script', { src: `${GAILOU}/gailou.js`, async: '' }]],
  // Vue leaves these elements to the browser.
  vue: { template: { compilerOptions: { isCustomElement: (tag) => tag.startsWith('gailou-') } } },
});
