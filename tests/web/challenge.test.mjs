// What a guest answers before a comment is taken: a proof of work, or Turnstile's widget.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call, memberToken, newSubject } from './support/api.mjs';
import { BASE, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import {
  assertVisible,
  commentWith,
  isAcknowledged,
  mainForm,
  newText,
  postOnPage,
  sendForm,
  withPage,
} from './support/page.mjs';

const WIDGET = 'https://challenges.cloudflare.com/turnstile/v0/api.js*';

async function changeChallenge(challenge) {
  const token = memberToken('900', 'Ada', 'admin');
  const answer = await call('PATCH', '/v1/admin/settings', { body: { challenge }, token });
  assert.equal(answer.status, 200, answer.text);
}

/** Notes the answers that posts and edits carry. */
function recordAnswers(answers) {
  return (context) =>
    context.route('**/v1/**', (route) => {
      const request = route.request();
      const isWrite = ['POST', 'PATCH'].includes(request.method());
      if (isWrite && /\/comments(\/\d+)?$/.test(request.url())) {
        answers.push(request.headers()['x-gailou-challenge'] ?? null);
      }
      return route.fallback();
    });
}

const needed = { skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }) };

describe('proof of work', needed, () => {
  before(() => changeChallenge({ guests: 'always', altcha_max_number: 300_000 }));
  after(() => changeChallenge(null));

  test('guest posts and edits, and reads what takes its time', async () => {
    const answers = [];
    const edited = newText('After');
    await withPage(newSubject(), { prepare: recordAnswers(answers) }, async (page) => {
      const sentences = page.evaluate(
        () =>
          new Promise((resolve) => {
            const root = document.querySelector('gailou-comments').shadowRoot;
            new MutationObserver(() => {
              const text = root.querySelector('.progress')?.textContent;
              if (text) resolve(text);
            }).observe(root, { subtree: true, childList: true, characterData: true });
          }),
      );
      const comment = await postOnPage(page, newText('Before'));
      assert.match(await sentences, /checking that this is no robot/);
      const id = await comment.getAttribute('data-id');
      const shown = page.locator(`article[data-id="${id}"]`);
      await shown.getByRole('button', { name: 'Edit' }).click();
      await sendForm(shown.locator('form.composer'), edited, 'Save');
      await assertVisible(shown.locator('.body').filter({ hasText: edited }), 'the new text');
      const isAnswer = (answer) => JSON.parse(atob(answer)).number >= 0;
      assert.deepEqual([answers[0], answers[2], answers.length], [null, null, 4]);
      assert.ok(isAnswer(answers[1]) && isAnswer(answers[3]));
    });
  });
});

describe('turnstile', needed, () => {
  /** The server of the tests has no widget, so its part is played here. */
  const askForWidget = (answers, widgetScript) => async (context) => {
    await context.route(WIDGET, (route) =>
      widgetScript
        ? route.fulfill({ contentType: 'text/javascript', body: widgetScript })
        : route.abort(),
    );
    await context.route('**/v1/subjects/*/*/comments', (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      const answer = route.request().headers()['x-gailou-challenge'] ?? null;
      answers.push(answer);
      if (answer) return route.fallback();
      const problem = { code: 'challenge_required', challenge: { sitekey: 'key' } };
      return route.fulfill({
        status: 403,
        contentType: 'application/problem+json',
        body: JSON.stringify(problem),
      });
    });
  };

  const WIDGET_SCRIPT = `window.turnstile = {
    render(box, { sitekey, language, callback }) {
      const button = document.createElement('button');
      button.textContent = 'I am human, ' + language;
      button.onclick = () => callback('token of ' + sitekey);
      box.append(button);
      return 'widget';
    },
    remove() {},
  };`;

  test('widget is shown in the form, and its token is sent', async () => {
    const answers = [];
    const prepare = askForWidget(answers, WIDGET_SCRIPT);
    await withPage(newSubject(), { prepare, bypassCSP: true }, async (page) => {
      assert.equal(await page.locator('script[src*="challenges.cloudflare.com"]').count(), 0);
      const text = newText('Human');
      await sendForm(mainForm(page), text, 'Post');
      await assertVisible(mainForm(page).getByText('confirm that you are no robot'), 'the request');
      await page.getByRole('button', { name: 'I am human, en' }).click();
      await isAcknowledged(commentWith(page, text));
      assert.deepEqual(answers, [null, 'token of key']);
      assert.equal(await page.locator('gailou-comments > div').count(), 0, 'the widget is gone');
    });
  });

  test('form keeps the text where the widget cannot be loaded', async () => {
    const answers = [];
    const prepare = askForWidget(answers, null);
    await withPage(newSubject(), { prepare, bypassCSP: true }, async (page) => {
      const text = newText('Offline');
      await sendForm(mainForm(page), text, 'Post');
      const message = mainForm(page).getByRole('alert').filter({ hasText: 'no robot' });
      await assertVisible(message, 'the refusal is explained');
      assert.equal(await mainForm(page).locator('textarea').inputValue(), text);
      assert.deepEqual(answers, [null]);
    });
  });
});
