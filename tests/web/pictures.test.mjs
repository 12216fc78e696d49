// Pictures: chosen, dropped, removed, posted, and shown.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newSubject } from './support/api.mjs';
import { violations } from './support/console.mjs';
import { BASE, BLOCKED_WORD, DESKTOP, skipWithout } from './support/environment.mjs';
import {
  assertVisible,
  commentWith,
  isFocused,
  mainForm,
  newText,
  openForm,
  postOnPage,
  sendForm,
  usedPartsRun,
  withPage,
} from './support/page.mjs';

/** A red pixel. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const picture = (name) => ({ name, mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') });

/** Chooses files by the button of a form. */
async function choose(page, form, files) {
  await openForm(form);
  const nameField = form.getByLabel('Your name');
  if (await nameField.isVisible()) await nameField.fill('Test guest');
  const chooser = page.waitForEvent('filechooser');
  await form.getByRole('button', { name: 'Add a picture' }).click();
  await (await chooser).setFiles(files);
}

describe('pictures', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('chosen picture is uploaded, posted and shown after a reload', async () => {
    const text = newText('With a picture');
    await withPage(newSubject(), {}, async (page) => {
      const form = mainForm(page);
      await choose(page, form, [picture('one.png'), picture('two.png')]);
      await assertVisible(form.getByRole('img', { name: 'two.png' }), 'it is shown');
      const uploaded = page.waitForRequest((request) => request.url().endsWith('/v1/media'));
      await form.getByLabel('Description of two.png').fill('A red pixel');
      await form.getByLabel('Description of two.png').press('Enter');
      assert.match((await uploaded).postData() ?? 'A red pixel', /A red pixel/);
      await form.getByRole('button', { name: 'Remove one.png' }).click();
      assert.equal(await form.locator('.pictures li').count(), 1);
      await postOnPage(page, text);
      assert.equal(await form.locator('.pictures li').count(), 0, 'the form is empty again');
      await page.reload();
      const shown = commentWith(page, text).locator('.media img');
      await assertVisible(shown, 'the comment shows it');
      assert.equal(await shown.count(), 1);
      assert.equal(await shown.getAttribute('alt'), 'A red pixel');
      const { width, height, natural } = await shown.evaluate(async (image) => {
        image.loading = 'eager';
        await image.decode();
        const { width, height, naturalWidth: natural } = image;
        return { width, height, natural };
      });
      assert.deepEqual({ width, height, natural }, { width: 1, height: 1, natural: 1 });
    });
  });

  test('large picture keeps its proportions, its place and the width of the page', async () => {
    const text = newText('With a tall picture');
    await withPage(newSubject(), {}, async (page) => {
      const tall = await page.evaluate(() => {
        const canvas = Object.assign(document.createElement('canvas'), {
          width: 600,
          height: 1200,
        });
        canvas.getContext('2d').fillRect(0, 0, 300, 600);
        return canvas.toDataURL('image/jpeg').split(',')[1];
      });
      const file = {
        name: 'tall.jpg',
        mimeType: 'image/jpeg',
        buffer: Buffer.from(tall, 'base64'),
      };
      await choose(page, mainForm(page), [file]);
      await assertVisible(mainForm(page).locator('.pictures li[data-uploaded]'), 'it is uploaded');
      await postOnPage(page, text);
      await page.reload();
      const shown = commentWith(page, text).locator('.media img');
      await assertVisible(shown, 'the comment shows it');
      const size = () => shown.evaluate(({ width, height }) => ({ width, height }));
      assert.deepEqual(await size(), { width: 160, height: 320 }, 'whether it has come or not');
      await shown.evaluate((image) => image.decode());
      assert.deepEqual(await size(), { width: 160, height: 320 });
      assert.equal(await shown.evaluate((image) => image.naturalWidth), 600);
    });
  });

  test('preview shows the pictures as the comment will', async () => {
    await withPage(newSubject(), { viewport: DESKTOP, deviceScaleFactor: 2 }, async (page) => {
      const large = await page.evaluate(() => {
        const canvas = Object.assign(document.createElement('canvas'), {
          width: 1_000,
          height: 500,
        });
        const context = canvas.getContext('2d');
        context.fillStyle = '#f00';
        context.fillRect(0, 0, 1_000, 500);
        return canvas.toDataURL('image/png').split(',')[1];
      });
      const form = mainForm(page);
      const file = { ...picture('wide.png'), buffer: Buffer.from(large, 'base64') };
      await choose(page, form, [file, picture('small.png')]);
      await form.getByLabel('Description of wide.png').fill('A red wall');
      const text = newText('Two pictures');
      await form.locator('textarea').fill(text);
      await form.getByRole('tab', { name: 'Preview' }).click();
      const pictures = form.getByRole('tabpanel', { name: 'Preview' }).locator('.media');
      const shown = pictures.getByRole('img', { name: 'A red wall' });
      await assertVisible(shown, 'the described one');
      assert.equal(await pictures.getByRole('img', { name: 'Picture', exact: true }).count(), 1);
      const sizeOf = async (locator) => {
        const { width, height } = await locator.boundingBox();
        return [Math.round(width), Math.round(height)];
      };
      assert.equal(await form.locator('.pictures').isVisible(), false, 'nothing is there twice');
      const size = await sizeOf(shown);
      assert.deepEqual(
        await shown.evaluate((canvas) => [
          canvas.width,
          ...canvas.getContext('2d').getImageData(320, 160, 1, 1).data,
        ]),
        [640, 255, 0, 0, 255],
        'with all pixels of the device',
      );
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await form.getByRole('tab', { name: 'Write' }).click();
      const comment = await postOnPage(page, text);
      const posted = comment.locator('.media img').first();
      await assertVisible(posted, 'the posted one');
      assert.deepEqual(await sizeOf(posted), size);
      await comment.getByRole('button', { name: 'Edit', exact: true }).click();
      const edit = comment.locator('form.composer');
      await edit.getByRole('tab', { name: 'Preview' }).click();
      await assertVisible(
        edit.locator('.preview').getByRole('img', { name: 'A red wall' }),
        'kept',
      );
    });
  });

  test('picture opens over the window, with its description and the others of its comment', async () => {
    const text = newText('With two pictures');
    await withPage(newSubject(), {}, async (page) => {
      const form = mainForm(page);
      await choose(page, form, [picture('one.png'), picture('two.png')]);
      await form.getByLabel('Description of one.png').fill('A red pixel');
      await form.getByLabel('Description of one.png').press('Enter');
      const comment = await postOnPage(page, text);
      await comment.scrollIntoViewIfNeeded();
      const links = comment.locator('.media a');
      assert.equal(await links.count(), 2);
      // What a reader uses is loaded when the pointer comes in.
      await comment.hover();
      await usedPartsRun(page);
      assert.equal(await comment.getByRole('link', { name: 'A red pixel' }).count(), 1);
      assert.equal(await comment.getByRole('link', { name: 'Picture', exact: true }).count(), 1);
      await links.first().focus();
      await page.keyboard.press('Enter');
      const lightbox = page.getByRole('dialog', { name: 'A red pixel' });
      await assertVisible(lightbox.locator('figcaption'), 'the description');
      assert.equal(
        await lightbox.locator('img').getAttribute('src'),
        await links.first().evaluate(({ href }) => href),
      );
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await page.keyboard.press('ArrowRight');
      await assertVisible(page.getByRole('dialog', { name: 'Picture' }).getByText('2 / 2'), 'next');
      await page.keyboard.press('ArrowRight');
      await assertVisible(lightbox.getByText('1 / 2'), 'the first again');
      await page.getByRole('button', { name: 'Previous picture' }).click();
      await assertVisible(page.getByText('2 / 2'), 'by a button');
      await page.keyboard.press('Escape');
      await page.locator('.lightbox').waitFor({ state: 'detached' });
      assert.equal(await isFocused(links.first()), true, 'the focus is back');
      for (const close of ['img', 'button.close']) {
        await links.nth(1).click();
        await page.locator('.lightbox').locator(close).click();
        await page.locator('.lightbox').waitFor({ state: 'detached' });
      }
    });
  });

  test('dropped picture is uploaded, and what is no picture is refused', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const form = mainForm(page);
      await openForm(form);
      await form.getByLabel('Your name').fill('Test guest');
      const drop = (name, type) =>
        form.evaluate(
          (node, { name, type, base64 }) => {
            const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([bytes], name, { type }));
            node.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
          },
          { name, type, base64: PNG },
        );
      await drop('notes.txt', 'text/plain');
      await assertVisible(form.getByText('Only JPEG, PNG, GIF and WebP'), 'a text is refused');
      await drop('dropped.png', 'image/png');
      await assertVisible(form.locator('.pictures li[data-uploaded]'), 'it is uploaded');
    });
  });

  test('picture that is described after its upload is uploaded anew with its description', async () => {
    const text = newText('Described late');
    let uploads = 0;
    const prepare = (context) =>
      context.route('**/v1/media', (route) => {
        uploads += 1;
        return route.fallback();
      });
    await withPage(newSubject(), { prepare }, async (page) => {
      const form = mainForm(page);
      await choose(page, form, [picture('late.png')]);
      await assertVisible(form.locator('.pictures li[data-uploaded]'), 'it is uploaded');
      assert.deepEqual(await violations(page, 'gailou-comments'), []);
      await form.getByLabel('Description of late.png').fill('Red, after all');
      const comment = await postOnPage(page, text);
      assert.equal(uploads, 2);
      assert.equal(await comment.locator('.media img').getAttribute('alt'), 'Red, after all');
    });
  });

  test('description with a blocked word is refused, and the picture stays', {
    skip: skipWithout({ E2E_BLOCKED_WORD: BLOCKED_WORD }),
  }, async () => {
    await withPage(newSubject(), {}, async (page) => {
      const form = mainForm(page);
      await choose(page, form, [picture('bad.png')]);
      await form.getByLabel('Description of bad.png').fill(`a ${BLOCKED_WORD}`);
      await sendForm(form, newText('Refused'), 'Post');
      await assertVisible(form.getByText('not allowed here'), 'the refusal');
      assert.equal(await form.locator('.pictures li').count(), 1);
    });
  });

  test('server that keeps no pictures takes the button away', async () => {
    const prepare = (context) =>
      context.route('**/v1/media', (route) =>
        route.fulfill({ status: 404, json: { code: 'not_found', detail: 'no pictures here' } }),
      );
    await withPage(newSubject(), { prepare }, async (page) => {
      const form = mainForm(page);
      await choose(page, form, [picture('one.png')]);
      await assertVisible(form.getByText('no pictures here'), 'the sentence');
      assert.equal(await form.locator('.pictures li').count(), 0);
      assert.equal(await form.getByRole('button', { name: 'Add a picture' }).isVisible(), false);
      await page.keyboard.press('Tab');
      assert.equal(await isFocused(form.getByRole('button', { name: 'Bold' })), true);
    });
  });
});
