/** The comment server. */
const GAILOU = 'https://comments.example';

export default defineNuxtConfig({
  compatibilityDate: '2026-11-01',
  telemetry: false,
  app: {
    head: {
      htmlAttrs: { lang: 'en' },
      script: [{ src: `${GAILOU}/gailou.js`, async: true }],
    },
  },
  // Vue leaves these elements to the browser.
  vue: { compilerOptions: { isCustomElement: (tag) => tag.startsWith('gailou-') } },
});
