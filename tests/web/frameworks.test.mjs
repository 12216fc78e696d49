// The element in pages of frameworks: each changes the subject as its authors do, and what is posted then is in the new one.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { guestToken, listWithRoots, newSubject, postComment } from './support/api.mjs';
import { bundle } from './support/bundle.mjs';
import { BASE, skipWithout } from './support/environment.mjs';
import { withHostPage } from './support/host-page.mjs';
import { assertVisible, commentWith, mainForm, newText, sendForm } from './support/page.mjs';

const REACT_APP = `
  function App() {
    const [subject, setSubject] = React.useState(window.subjects[0]);
    return (
      <main>
        <button onClick={() => setSubject(window.subjects[1])}>Next page</button>
        <gailou-comments subject={subject} lang="en" live="off" theme="light" />
      </main>
    );
  }
  createRoot(document.getElementById('app')).render(<App />);
`;
const REACT_PAGE = `
  import * as React from 'react';
  import { createRoot } from 'react-dom/client';
  ${REACT_APP}
`;
const VUE_PAGE = `
  import { createApp, h, ref } from '@vue/runtime-dom';
  createApp({
    setup() {
      const subject = ref(window.subjects[0]);
      const next = () => { subject.value = window.subjects[1]; };
      return () => h('main', [
        h('button', { onClick: next }, 'Next page'),
        h('gailou-comments', { subject: subject.value, lang: 'en', live: false, theme: 'light' }),
      ]);
    },
  }).mount('#app');
`;
const SVELTE_PAGE = `
  import { mount } from 'svelte';
  import App from './app.svelte';
  mount(App, { target: document.getElementById('app') });
`;
const SVELTE_APP = `
  <script>
    let subject = $state(window.subjects[0]);
  </script>
  <button onclick={() => { subject = window.subjects[1]; }}>Next page</button>
  <gailou-comments {subject} lang="en" live="off" theme="light"></gailou-comments>
`;
const PLAIN_PAGE = `
  const comments = document.createElement('gailou-comments');
  Object.assign(comments, { subject: window.subjects[0], lang: 'en', live: false, theme: 'light' });
  const button = document.createElement('button');
  button.textContent = 'Next page';
  button.onclick = () => { comments.subject = window.subjects[1]; };
  document.getElementById('app').append(button, comments);
`;

const FRAMEWORK_PAGES = [
  ['React 18', REACT_PAGE, { alias: { react: 'react18', 'react-dom': 'react-dom18' } }],
  ['React 19', REACT_PAGE, {}],
  ['Vue 3', VUE_PAGE, {}],
  ['Svelte 5', SVELTE_PAGE, { svelte: SVELTE_APP }],
  ['plain HTML', PLAIN_PAGE, {}],
];

/** The page's script once the element is there, or before it. */
const SCRIPT_ORDERS = [
  [
    'defined',
    `<script src="/gailou.js"></script>
     <script>
       customElements.whenDefined('gailou-comments').then(() => {
         document.body.append(Object.assign(document.createElement('script'), { src: '/app.js' }));
       });
     </script>`,
  ],
  ['defined later', '<script src="/app.js"></script><script src="/gailou.js" async></script>'],
];

describe('frameworks', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  for (const [name, source, options] of FRAMEWORK_PAGES) {
    for (const [state, tags] of SCRIPT_ORDERS) {
      test(`${name} changes the subject of an element that is ${state}`, async () => {
        const subjects = [newSubject(), newSubject()];
        const texts = [newText('Before'), newText('After')];
        const token = await guestToken();
        for (const [at, subject] of subjects.entries()) {
          await postComment(subject, texts[at], token);
          await listWithRoots(subject, 1);
        }
        const html = `<title>A site</title><div id="app"></div>${tags}`;
        const app = await bundle(source, options);
        const scripts = { 'app.js': `window.subjects = ${JSON.stringify(subjects)};${app}` };
        await withHostPage({ html, scripts }, async (page) => {
          await assertVisible(commentWith(page, texts[0]), 'the comments of the first page');
          await page.getByRole('button', { name: 'Next page' }).click();
          await assertVisible(commentWith(page, texts[1]), 'the comments of the next page');
          const posted = newText('Posted');
          await sendForm(mainForm(page), posted, 'Post');
          const { data } = await listWithRoots(subjects[1], 2);
          assert.ok(
            data.some(({ content }) => content === posted),
            'it is in the new subject',
          );
          const before = await listWithRoots(subjects[0], 1);
          assert.equal(before.data.length, 1, 'and not in the former one');
          assert.deepEqual(
            await page.locator('gailou-comments').evaluate(({ subject, live, theme, sort }) => ({
              subject,
              live,
              theme,
              sort,
            })),
            { subject: subjects[1], live: 'off', theme: 'light', sort: 'hot' },
          );
        });
      });
    }
  }
});
