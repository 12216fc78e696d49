// Writing: posts, replies, reactions, edits, deletions, and posts with an unknown outcome.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, memberToken, newSubject, postComment } from './support/api.mjs';
import { BASE, BLOCKED_CATEGORY, BLOCKED_WORD, skipWithout } from './support/environment.mjs';
import {
  assertAttribute,
  assertVisible,
  comments,
  commentWith,
  isAcknowledged,
  isFocused,
  listIsLoaded,
  mainForm,
  newText,
  postOnPage,
  sendForm,
  withPage,
} from './support/page.mjs';

describe('writing', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('comment of a guest is shown after a reload', async () => {
    const text = newText('A first comment');
    await withPage(newSubject(), {}, async (page) => {
      await assertVisible(page.getByText('Be the first to comment.'), 'the empty state');
      const comment = await postOnPage(page, text);
      assert.equal(await isFocused(comment), true, 'the new comment has the focus');
      assert.equal(await mainForm(page).locator('textarea').inputValue(), '');
      await assertVisible(page.getByText('Posting as Test guest'), 'the guest is named');
      await assertVisible(page.locator('h2', { hasText: '1 comment' }), 'the count follows');
      await page.reload();
      await assertVisible(commentWith(page, text), 'at once after a reload');
      const mark = commentWith(page, text).locator('.badge.guest');
      assert.equal(await mark.textContent(), 'Guest', 'guests are marked');
      assert.equal(await comments(page).filter({ hasText: text }).count(), 1);
    });
  });

  test('reply is shown under its comment', async () => {
    const replyText = newText('Reply');
    await withPage(newSubject(), {}, async (page) => {
      const root = await postOnPage(page, newText('Root'));
      await root.getByRole('button', { name: 'Reply' }).click();
      const form = root.locator('form.composer');
      assert.equal(await isFocused(form.locator('textarea')), true, 'the reply form has the focus');
      await sendForm(form, replyText, 'Reply');
      const replies = page.locator('.list > .item .replies article');
      const reply = replies.filter({ hasText: replyText });
      await assertVisible(reply, 'under the root');
      await isAcknowledged(reply);
      await page.reload();
      await assertVisible(reply, 'after a reload');
    });
  });

  test('like is counted once, survives a reload, and a second press removes it', async () => {
    const text = newText('Likeable');
    await withPage(newSubject(), {}, async (page) => {
      const comment = await postOnPage(page, text);
      const like = comment.getByRole('button', { name: 'Like', exact: false }).first();
      const answered = page.waitForResponse((response) => response.url().endsWith('/like'));
      await like.click();
      await assertAttribute(like, 'aria-pressed', 'true');
      await assertVisible(like.getByText('1', { exact: true }), 'the count is 1');
      await answered;
      await page.reload();
      const again = commentWith(page, text).locator('.act.like');
      await assertAttribute(again, 'aria-pressed', 'true');
      await assertVisible(again.getByText('1', { exact: true }), 'the count is still 1');
      await again.click();
      await assertAttribute(again, 'aria-pressed', 'false');
      await assertVisible(again.filter({ hasNotText: /\d/ }), 'there is no count');
    });
  });

  test('dislike replaces a like', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const comment = await postOnPage(page, newText('Divisive'));
      const [like, dislike] = [comment.locator('.act.like'), comment.locator('.act.dislike')];
      await like.click();
      await assertVisible(like.getByText('1', { exact: true }), 'liked');
      await dislike.click();
      await assertAttribute(dislike, 'aria-pressed', 'true');
      await assertAttribute(like, 'aria-pressed', 'false');
      await assertVisible(like.filter({ hasNotText: /\d/ }), 'there is no like');
    });
  });

  test('blocked word is refused with its category, and the form keeps the text', {
    skip: skipWithout({ E2E_BLOCKED_WORD: BLOCKED_WORD }),
  }, async () => {
    const text = `${newText('This has')} ${BLOCKED_WORD} in it`;
    await withPage(newSubject(), {}, async (page) => {
      const form = mainForm(page);
      await sendForm(form, text, 'Post');
      const message = form.getByRole('alert').filter({ hasText: 'not allowed here' });
      await assertVisible(message, 'the refusal is explained');
      if (BLOCKED_CATEGORY) {
        assert.match(
          await message.textContent(),
          new RegExp(`\\(categories: ${BLOCKED_CATEGORY}\\)`),
        );
      }
      assert.equal(await form.locator('textarea').inputValue(), text);
      assert.equal(await comments(page).count(), 0);
    });
  });

  test('author can edit and delete a comment', async () => {
    const editedText = newText('After');
    await withPage(newSubject(), {}, async (page) => {
      const posted = await postOnPage(page, newText('Before'));
      const id = await posted.getAttribute('data-id');
      const comment = page.locator(`article[data-id="${id}"]`);
      await comment.getByRole('button', { name: 'Edit' }).click();
      await sendForm(comment.locator('form.composer'), editedText, 'Save');
      await assertVisible(comment.locator('.body').filter({ hasText: editedText }), 'the new text');
      await assertVisible(comment.getByText('edited', { exact: true }), 'the mark of an edit');
      const answered = page.waitForResponse((response) => response.request().method() === 'DELETE');
      await comment.getByRole('button', { name: 'Delete' }).click();
      await assertVisible(page.getByRole('group', { name: 'Deleted' }), 'the offer to undo');
      assert.equal(await comment.isVisible(), false);
      await answered;
      await page.reload();
      await listIsLoaded(page);
      assert.equal(await page.getByText(editedText).count(), 0, 'gone after a reload');
    });
  });

  test('edit that is being written outlives another sort and a reload, and ends when it is cancelled', async () => {
    const [subject, before] = [newSubject(), newText('As it was')];
    const author = memberToken('932', 'Rewriter');
    for (let i = 0; i < 4; i += 1) await postComment(subject, newText(`Other ${i}`), author);
    const { id } = await postComment(subject, before, author);
    await withPage(subject, {}, async (page) => {
      const comment = page.locator(`article[data-id="${id}"]`);
      const input = comment.locator('form.composer textarea');
      const edit = async () => {
        const setToken = (node, value) => node.setAttribute('token', value);
        await page.locator('gailou-comments').evaluate(setToken, author);
        await comment.getByRole('button', { name: 'Edit' }).click();
        return input.inputValue();
      };
      assert.equal(await edit(), before);
      await input.fill('half an edit');
      await page.locator('.sorts').getByRole('button', { name: 'New', exact: true }).click();
      await input.waitFor({ state: 'detached' });
      assert.equal(await edit(), 'half an edit', 'after another sort');
      await page.reload();
      assert.equal(await edit(), 'half an edit', 'after a reload');
      await comment.getByRole('button', { name: 'Cancel' }).click();
      await assertVisible(comment.locator('.body').filter({ hasText: before }), 'the comment');
      assert.equal(await edit(), before, 'after it was cancelled');
      await input.fill('half another edit');
      const elsewhere = newText('Edited elsewhere');
      const options = { body: { content: elsewhere }, token: author };
      assert.equal((await call('PATCH', `/v1/comments/${id}`, options)).status, 200);
      await page.reload();
      await assertVisible(comment.locator('.body').filter({ hasText: elsewhere }), 'the new text');
      assert.equal(await edit(), elsewhere, 'after it was edited elsewhere');
    });
  });

  test('Esc closes the reply form, keeps the draft and gives the focus back', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const comment = await postOnPage(page, newText('Root'));
      const reply = comment.getByRole('button', { name: 'Reply' });
      await reply.click();
      await comment.locator('textarea').fill('half a thought');
      await page.keyboard.press('Escape');
      assert.equal(await comment.locator('form').count(), 0);
      assert.equal(await isFocused(reply), true);
      await reply.click();
      assert.equal(await comment.locator('textarea').inputValue(), 'half a thought', 'the draft');
    });
  });

  /** Lets every post reach the server, but loses the answer while `isLost` says so. */
  function losePostAnswers(keys, isLost) {
    return (context) =>
      context.route('**/v1/subjects/*/*/comments', async (route) => {
        if (route.request().method() !== 'POST') return route.fallback();
        keys.push(route.request().headers()['idempotency-key']);
        if (!isLost()) return route.fallback();
        await route.fetch();
        return route.abort('connectionreset');
      });
  }

  test('post with an unknown outcome is repeated with its key and stored once', async () => {
    const text = newText('Sent twice');
    const keys = [];
    const prepare = losePostAnswers(keys, () => keys.length === 1);
    await withPage(newSubject(), { prepare }, async (page) => {
      await postOnPage(page, text);
      assert.equal(keys.length, 2);
      assert.ok(keys[0] && keys[0] === keys[1], 'one key for both attempts');
      await page.reload();
      await assertVisible(commentWith(page, text), 'posted');
      assert.equal(await comments(page).filter({ hasText: text }).count(), 1);
    });
  });

  test('reload during an unknown outcome keeps the text and the key', async () => {
    const text = newText('Interrupted');
    const keys = [];
    let isLost = true;
    const prepare = losePostAnswers(keys, () => isLost);
    await withPage(newSubject(), { prepare }, async (page) => {
      const form = mainForm(page);
      await sendForm(form, text, 'Post');
      const progress = form.getByRole('status').filter({ hasText: 'retrying is safe' });
      await assertVisible(progress, 'the retry is announced');
      await page.reload();
      assert.equal(await form.locator('textarea').inputValue(), text);
      isLost = false;
      await form.getByRole('button', { name: 'Post', exact: true }).click();
      await isAcknowledged(commentWith(page, text));
      assert.equal(new Set(keys).size, 1, 'one key throughout');
      await page.reload();
      await assertVisible(commentWith(page, text), 'still there');
      assert.equal(await comments(page).filter({ hasText: text }).count(), 1);
    });
  });
});
