// The element on a page of another site than those that may write: it can be read, and who writes reads why not.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { memberToken, newSubject, postComment } from './support/api.mjs';
import { newContext } from './support/browser.mjs';
import { BASE, skipWithout, WAIT_MS } from './support/environment.mjs';
import { startSite } from './support/host-page.mjs';
import { assertVisible, commentWith, mainForm, newText, sendForm } from './support/page.mjs';

/** A site that may not write. */
const startBlog = (subject) =>
  startSite(
    `<body><script src="${BASE}/gailou.js" data-subject="${subject}" data-lang="en"></script>`,
  );

describe('site', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('that may not write is named to the reader, who still reads', async () => {
    const [subject, text] = [newSubject(), newText('Readable')];
    await postComment(subject, text, memberToken('7', 'Ann'));
    const { server, site } = await startBlog(subject);
    const context = await newContext();
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(WAIT_MS);
      await page.goto(`${site}/post`);
      await assertVisible(commentWith(page, text), 'other sites may read');
      await sendForm(mainForm(page), newText('Refused'), 'Post');
      const sentence = mainForm(page).getByText(
        `The comment server does not take comments from ${site}.`,
      );
      await assertVisible(sentence, 'the reader learns why');
      assert.ok(await mainForm(page).locator('textarea').inputValue(), 'the text is kept');
    } finally {
      await context.close();
      server.close();
    }
  });
});
