// What helps in writing: the toolbar, the preview, names behind an @, a quoted selection, emoji, and a wait that counts down.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, guestToken, listWithRoots, newSubject, postComment } from './support/api.mjs';
import { admin, violations } from './support/console.mjs';
import { BASE, BLOCKED_WORD, NARROW, skipWithout } from './support/environment.mjs';
import { withHostPage } from './support/host-page.mjs';
import { focusedElement, lowContrast } from './support/inspect.mjs';
import {
  assertAttribute,
  assertVisible,
  commentWith,
  isAcknowledged,
  isFocused,
  mainForm,
  newText,
  openForm,
  postOnPage,
  sendForm,
  withPage,
} from './support/page.mjs';

/** The open form at the top, with its tools. */
async function openMain(page) {
  const form = mainForm(page);
  await openForm(form);
  await assertVisible(form.getByRole('toolbar', { name: 'Formatting' }), 'the toolbar');
  return form;
}

/** Selects a word of a text field. */
const selectWord = (textarea, word) =>
  textarea.evaluate((node, wanted) => {
    const at = node.value.indexOf(wanted);
    node.focus();
    node.setSelectionRange(at, at + wanted.length);
  }, word);

/** A subject with a root of each of these guests, each with a name of its own. */
async function subjectOf(...names) {
  const subject = newSubject();
  for (const name of names) await postComment(subject, `A word of ${name}`, await guestToken(name));
  await listWithRoots(subject, names.length);
  return subject;
}

const fontOf = (locator) => locator.evaluate((node) => getComputedStyle(node).fontFamily);

const unusual = (name) => newText(name).replaceAll('-', '');

describe('writing tools', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('toolbar formats the selection, by the pointer and by keys, and can be undone', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const form = await openMain(page);
      const textarea = form.locator('textarea');
      await textarea.fill('one two three');
      await selectWord(textarea, 'two');
      await form.getByRole('button', { name: 'Bold' }).click();
      assert.equal(await textarea.inputValue(), 'one **two** three');
      assert.equal(await isFocused(textarea), true, 'one goes on writing');
      await page.keyboard.press('Control+i');
      assert.equal(await textarea.inputValue(), 'one ***two*** three');
      await page.keyboard.press('Control+b');
      assert.equal(await textarea.inputValue(), 'one *two* three');
      await page.keyboard.press('Control+z');
      assert.equal(await textarea.inputValue(), 'one ***two*** three', 'the browser undoes it');
      await textarea.fill('this');
      await selectWord(textarea, 'this');
      await page.keyboard.press('Control+k');
      assert.equal(await textarea.inputValue(), '[this](https://)');
      await page.keyboard.type('https://a.example');
      assert.equal(await textarea.inputValue(), '[this](https://a.example)');
      await textarea.fill('a\nb');
      await textarea.selectText();
      await form.getByRole('button', { name: 'List' }).click();
      assert.equal(await textarea.inputValue(), '- a\n- b');
    });
  });

  test('toolbar is one stop of the Tab key', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const form = await openMain(page);
      await page.keyboard.press('Tab');
      const bold = form.getByRole('button', { name: 'Bold' });
      assert.equal(await isFocused(bold), true);
      await page.keyboard.press('ArrowLeft');
      assert.equal(await isFocused(form.getByRole('button', { name: 'Add a picture' })), true);
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowRight');
      assert.equal(await isFocused(form.getByRole('button', { name: 'Italic' })), true);
      await page.keyboard.press('Tab');
      assert.match(await page.evaluate(focusedElement), /^INPUT/, 'the name is next');
    });
  });

  test('form says that it takes Markdown', async () => {
    await withPage(newSubject(), { viewport: { width: 320, height: 800 } }, async (page) => {
      const form = await openMain(page);
      const tab = await form.getByRole('tab', { name: 'Preview' }).boundingBox();
      const hint = await form.getByText('Markdown', { exact: true }).boundingBox();
      assert.ok(hint.x >= tab.x + tab.width && hint.y < tab.y + tab.height, 'beside the tabs');
    });
  });

  test('preview is what is posted', async () => {
    const word = newText('Previewed');
    const text = `**${word}** & [a link](https://a.example/?b&c)\n\n> quoted\n\n\`code\`\n\n- one\n- two`;
    await withPage(newSubject(), {}, async (page) => {
      const form = await openMain(page);
      await form.getByRole('tab', { name: 'Preview' }).click();
      await assertVisible(form.getByText('There is nothing to show yet.'), 'an empty text');
      await form.getByRole('tab', { name: 'Write' }).click();
      await form.locator('textarea').fill(text);
      const previewed = page.waitForResponse((response) => response.url().endsWith('/v1/preview'));
      await form.getByRole('tab', { name: 'Preview' }).click();
      const { html } = await (await previewed).json();
      const shown = form.getByRole('tabpanel', { name: 'Preview' }).locator('.body');
      await assertVisible(shown.getByText(word), 'the preview');
      assert.equal(await form.locator('textarea').isVisible(), false);
      assert.equal(await form.getByRole('toolbar').isVisible(), false, 'nothing to format');
      const preview = await shown.innerHTML();
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await page.keyboard.press('ArrowLeft');
      assert.equal(await isFocused(form.getByRole('tab', { name: 'Write' })), true);
      const comment = await postOnPage(page, text, word);
      assert.equal(await comment.locator('.body').innerHTML(), preview);
      const id = await comment.getAttribute('data-id');
      const { data } = await call('GET', `/v1/comments/${id}`);
      assert.equal(data.html, html, 'the same bytes');
      await assertVisible(
        page.getByText('Posting as Test guest'),
        'who previews is asked for a name',
      );
      assert.match(
        await form.locator('.who').textContent(),
        /Test guest *change *· *Your account$/,
        'two links',
      );
    });
  });

  test('preview ends with the post; a wide table has lines, and scrolls by itself', async () => {
    const word = newText('Columns');
    const cells = (text) => `|${` ${text} |`.repeat(14)}`;
    const text = `${cells(word)}\n${cells('--:')}\n${cells('a cell')}`;
    await withPage(newSubject(), { viewport: NARROW }, async (page) => {
      const form = await openMain(page);
      await form.locator('textarea').fill(text);
      await form.getByLabel('Your name').fill(unusual('Table'));
      await form.getByRole('tab', { name: 'Preview' }).click();
      await assertVisible(form.locator('.preview table'), 'the preview');
      await form.getByRole('button', { name: 'Post' }).click();
      const comment = commentWith(page, word);
      await isAcknowledged(comment);
      await assertVisible(mainForm(page).locator('textarea'), 'one can write again');
      assert.equal(await mainForm(page).locator('textarea').inputValue(), '');
      const table = comment.locator('.body table');
      await table.locator('td[align="right"]').first().waitFor();
      const { border, isWider } = await table.evaluate((node) => ({
        border: getComputedStyle(node.querySelector('td')).borderTopWidth,
        isWider: node.scrollWidth > node.clientWidth,
      }));
      assert.deepEqual({ border, isWider }, { border: '1px', isWider: true });
      const overflow = await page.evaluate(() => {
        const { clientWidth, scrollWidth } = document.documentElement;
        return scrollWidth - clientWidth;
      });
      assert.equal(overflow, 0, 'the page does not scroll sideways');
    });
  });

  test('masked words are said as soon as they are posted, a refused name in the language', async () => {
    const term = { term: unusual('maskme'), category: 'test', action: 'mask' };
    await admin('PATCH', '/v1/admin/words', { add: [term] });
    await withPage(newSubject(), { lang: 'zh-CN' }, async (page) => {
      const form = mainForm(page);
      await form.locator('textarea').focus();
      await form.locator('textarea').fill(`看看 ${term.term}`);
      await form.getByLabel('昵称').fill('管理员');
      await form.getByRole('button', { name: '发表' }).click();
      await assertVisible(form.getByText('此昵称不可使用或已被占用'), 'the name is refused');
      await form.getByLabel('昵称').fill(unusual('名字'));
      await form.getByRole('button', { name: '发表' }).click();
      await assertVisible(commentWith(page, '看看').getByText(/打码/), 'part of it is masked');
    });
  });

  test('what is wrong with a preview is said', async () => {
    const prepare = (context) =>
      context.route('**/v1/preview', (route) => {
        const { content } = route.request().postDataJSON();
        if (content === 'left out') {
          return route.fulfill({ status: 503, json: { code: 'overloaded', detail: 'left out' } });
        }
        if (content === 'too fast') {
          return route.fulfill({
            status: 429,
            headers: { 'Retry-After': '7' },
            json: { code: 'rate_limited' },
          });
        }
        return route.fallback();
      });
    await withPage(newSubject(), { prepare }, async (page) => {
      const form = await openMain(page);
      const show = async (text, sentence) => {
        await form.getByRole('tab', { name: 'Write' }).click();
        await form.locator('textarea').fill(text);
        await form.getByRole('tab', { name: 'Preview' }).click();
        await assertVisible(form.getByRole('alert').filter({ hasText: sentence }), sentence);
      };
      await show('left out', 'There is no preview at the moment');
      await show('too fast', 'try again in 7 s');
      if (BLOCKED_WORD) await show(`a ${BLOCKED_WORD} b`, 'words that are not allowed here');
      await form.getByRole('button', { name: 'Post', exact: true }).click();
      assert.equal(await form.locator('textarea').isVisible(), true, 'an error is at the text');
    });
  });

  test('name behind an @ is completed, kept with the draft, and sent as a mention', async () => {
    const [ann, anna] = [unusual('Ann'), unusual('Anna B')];
    const subject = await subjectOf(ann, anna);
    await withPage(subject, {}, async (page) => {
      const form = await openMain(page);
      const textarea = form.locator('textarea');
      const list = form.getByRole('listbox', { name: 'People in these comments' });
      await page.keyboard.type('Hello @an');
      await assertVisible(list, 'the names');
      assert.equal(await list.getByRole('option').count(), 2);
      await assertAttribute(list.getByRole('option').first(), 'aria-selected', 'true');
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await page.keyboard.press('Escape');
      assert.equal(await list.isVisible(), false);
      await page.keyboard.type('na');
      assert.equal(await list.isVisible(), false, 'it was left');
      await textarea.fill('');
      await page.keyboard.type('Hello @anna');
      await assertVisible(list.getByRole('option', { name: anna }), 'a name with a space');
      await page.keyboard.press('Enter');
      assert.equal(await textarea.inputValue(), `Hello @${anna} `);
      await page.keyboard.type('and @');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowUp');
      await list.getByRole('option', { name: ann, exact: true }).click();
      assert.equal(await textarea.inputValue(), `Hello @${anna} and @${ann} `);
      await form.getByRole('tab', { name: 'Preview' }).click();
      const previewed = form.locator('.preview .mention');
      await assertVisible(previewed, 'mentions are marked in the preview');
      assert.deepEqual(await previewed.allTextContents(), [`@${anna}`, `@${ann}`]);
      await form.getByRole('tab', { name: 'Write' }).click();
      await page.reload();
      await page.locator('gailou-comments').scrollIntoViewIfNeeded();
      await assertVisible(
        page.getByText('How others will see you').or(mainForm(page).getByLabel('Your name')),
        'the draft',
      );
      const sent = page.waitForRequest(
        (request) => request.method() === 'POST' && request.url().endsWith('/comments'),
      );
      await mainForm(page).getByLabel('Your name').fill('Test guest');
      await mainForm(page).getByRole('button', { name: 'Post', exact: true }).click();
      const body = (await sent).postDataJSON();
      assert.equal(body.mentions.length, 2);
      const comment = commentWith(page, `Hello @${anna}`);
      await isAcknowledged(comment);
      const marks = comment.locator('.mention');
      await assertVisible(marks, 'mentions are marked');
      assert.deepEqual(await marks.allTextContents(), [`@${anna}`, `@${ann}`]);
    });
  });

  test('selected text of a comment is quoted in the answer to it', async () => {
    const word = newText('Worth quoting');
    await withPage(newSubject(), {}, async (page) => {
      const comment = await postOnPage(page, `Before.\n\n${word}`, word);
      await comment.locator('.body p').last().selectText();
      await comment.getByRole('button', { name: 'Reply' }).click();
      const form = comment.locator('form.composer');
      await form.locator('textarea').waitFor();
      assert.equal(await form.locator('textarea').inputValue(), `> ${word}\n\n`);
      await page.keyboard.type('Quite so.');
      await form.getByRole('button', { name: 'Reply', exact: true }).click();
      const reply = page.locator('.replies article').filter({ hasText: 'Quite so.' });
      await isAcknowledged(reply);
      await assertVisible(reply.locator('blockquote', { hasText: word }), 'the quote');
    });
  });

  test('button below a selection quotes it', async () => {
    const name = unusual('Selected');
    const subject = await subjectOf(name);
    await withPage(subject, {}, async (page) => {
      const comment = commentWith(page, name);
      // The button is loaded when the reader comes to the comments.
      await comment.locator('.body').hover();
      await comment.locator('.body p').selectText();
      const button = page.locator('.quote-selection');
      await assertVisible(button, 'the button');
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await button.click();
      const textarea = comment.locator('form.composer textarea');
      await textarea.waitFor();
      assert.equal(await textarea.inputValue(), `> A word of ${name}\n\n`);
      assert.equal(await button.isVisible(), false);
    });
  });

  test('refused for being too fast, the form counts down and takes no retry until then', async () => {
    const text = newText('Too fast');
    let refusals = 0;
    const prepare = (context) =>
      context.route('**/v1/subjects/*/*/comments', (route) => {
        if (route.request().method() !== 'POST' || refusals > 0) return route.fallback();
        refusals += 1;
        const problem = { code: 'rate_limited', title: 'Too Many Requests', status: 429 };
        return route.fulfill({ status: 429, headers: { 'Retry-After': '3' }, json: problem });
      });
    await withPage(newSubject(), { prepare }, async (page) => {
      const form = await openMain(page);
      await sendForm(form, text, 'Post');
      const alert = form.getByRole('alert').filter({ hasText: 'a little fast' });
      await assertVisible(alert, 'the refusal');
      const spoken = await alert.locator('.sr').textContent();
      const counted = alert.locator('[aria-hidden="true"]');
      const retry = form.getByRole('button', { name: 'Retry' });
      await assertAttribute(retry, 'aria-disabled', 'true');
      await assertVisible(counted.filter({ hasText: 'in 1 s' }), 'the seconds are counted');
      assert.equal(await alert.locator('.sr').textContent(), spoken, 'they are spoken once');
      await retry.click({ force: true });
      assert.equal(refusals, 1);
      await assertVisible(form.getByText('You can try again now.'), 'the end of the wait');
      await assertAttribute(retry, 'aria-disabled', 'false');
      await retry.click();
      await isAcknowledged(commentWith(page, text));
    });
  });

  test('emoji are found by name and picked with the keyboard', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const form = await openMain(page);
      await page.keyboard.type('Up ');
      await form.getByRole('button', { name: 'Emoji' }).click();
      const picker = form.getByRole('dialog', { name: 'Emoji' });
      await assertVisible(picker, 'the picker');
      assert.ok((await picker.getByRole('button').count()) >= 120);
      assert.match(await fontOf(picker.getByRole('button').first()), /^"Apple Color Emoji"/);
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await page.keyboard.type('梯子');
      assert.equal(await picker.getByRole('button').count(), 1);
      await page.keyboard.press('Enter');
      assert.equal(await form.locator('textarea').inputValue(), 'Up 🪜');
      assert.equal(await picker.isVisible(), false);
      await form.getByRole('button', { name: 'Emoji' }).click();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Escape');
      assert.equal(await isFocused(form.getByRole('button', { name: 'Emoji' })), true);
      await form.getByRole('button', { name: 'Emoji' }).click();
      await page.keyboard.type('nothing like this');
      await assertVisible(picker.getByText('Nothing was found.'), 'an empty search');
    });
  });

  test('emoji of the page are added', async () => {
    const packs = {
      Kaomoji: { type: 'emoticon', container: [{ icon: '(╯°□°)╯', text: 'table' }] },
    };
    const prepare = (context) =>
      context.route('**/owo.json', (route) => route.fulfill({ json: packs }));
    await withPage(newSubject(), { prepare }, async (page) => {
      await page.locator('gailou-comments').evaluate((node) => {
        node.emoji = '/owo.json';
      });
      const form = await openMain(page);
      await form.getByRole('button', { name: 'Emoji' }).click();
      const picker = form.getByRole('dialog', { name: 'Emoji' });
      await assertVisible(picker.getByText('Kaomoji'), 'the pack');
      const table = picker.getByRole('button', { name: 'table' });
      assert.doesNotMatch(await fontOf(table), /Emoji/, 'a text has the font of texts');
      await table.click();
      assert.equal(await form.locator('textarea').inputValue(), '(╯°□°)╯');
    });
  });

  test('stickers of the page are picked, previewed and shown; without them their names are', async () => {
    const subject = newSubject();
    const packs = {
      Stickers: { type: 'image', container: [{ icon: '<img src="doge.svg">', text: 'doge dog' }] },
    };
    const picture =
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4"/></svg>';
    let wait = Promise.resolve();
    const serve = async (page) => {
      await page.route('**/packs/owo.json', (route) =>
        wait.then(() => route.fulfill({ json: packs })),
      );
      await page.route('**/packs/doge.svg', (route) =>
        route.fulfill({ contentType: 'image/svg+xml', body: picture }),
      );
    };
    const html = `<title>A page</title><gailou-comments subject="${subject}" loading="eager"
      emoji="/packs/owo.json"></gailou-comments><script src="/gailou.js" defer></script>`;
    const sticker = (place) => place.getByRole('img', { name: 'doge-dog' });
    const isDrawn = (image) => image.evaluate((node) => node.decode().then(() => true));
    const mark = newText('Much');
    await withHostPage({ html }, async (page) => {
      await serve(page);
      const { promise, resolve } = Promise.withResolvers();
      wait = promise;
      const form = await openMain(page);
      await form.locator('textarea').fill(`${mark} at 12:30:45 \`:doge-dog:\` `);
      await form.getByRole('button', { name: 'Emoji' }).click();
      const picker = form.getByRole('dialog', { name: 'Emoji' });
      await assertVisible(picker, 'the picker');
      await page.keyboard.type('doge');
      await assertVisible(picker.getByText('Nothing was found.'), 'the packs are not here yet');
      resolve();
      await picker.getByRole('button', { name: ':doge-dog:' }).locator('img').waitFor();
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await page.keyboard.press('Enter');
      assert.match(await form.locator('textarea').inputValue(), / :doge-dog:$/);
      await form.getByRole('tab', { name: 'Preview' }).click();
      assert.ok(await isDrawn(sticker(form)));
      await form.getByRole('tab', { name: 'Write' }).click();
      await sendForm(form, await form.locator('textarea').inputValue(), 'Post');
      await isAcknowledged(commentWith(page, mark));
    });
    await listWithRoots(subject, 1);
    await withHostPage({ html }, async (page) => {
      await serve(page);
      const body = commentWith(page, mark).locator('.body');
      // The list may have come before the packs could be answered.
      await page.reload();
      assert.ok(await isDrawn(sticker(body)));
      const { width, height } = await sticker(body).boundingBox();
      assert.deepEqual([width, height], [64, 64]);
      assert.match(await body.textContent(), /at 12:30:45 :doge-dog:\s*$/, 'times and code stay');
    });
    await withPage(subject, {}, async (page) => {
      const body = commentWith(page, mark).locator('.body');
      assert.match(await body.textContent(), / :doge-dog: :doge-dog:\s*$/);
      assert.equal(await sticker(body).count(), 0);
    });
  });

  for (const colorScheme of ['light', 'dark']) {
    test(`tools are readable and fit into a phone (${colorScheme})`, async () => {
      const options = { viewport: NARROW, colorScheme, hasTouch: true, isMobile: true };
      await withPage('article/hello', options, async (page) => {
        const form = await openMain(page);
        await form.getByRole('button', { name: 'Emoji' }).click();
        await form.getByRole('dialog', { name: 'Emoji' }).waitFor();
        assert.deepEqual(await page.evaluate(lowContrast), []);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= NARROW.width, `${width} px wide`);
        const small = await form.evaluate((node) =>
          [...node.querySelectorAll('.tool, .tab, .emoji-row button')].flatMap((control) => {
            const { width, height } = control.getBoundingClientRect();
            const isLarge = control.matches('.emoji-row button') ? width >= 24 : width >= 44;
            return width && !(isLarge && height >= 44)
              ? [`${control.className} ${width}×${height}`]
              : [];
          }),
        );
        assert.deepEqual(small, []);
      });
    });
  }
});
