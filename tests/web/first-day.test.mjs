// The first day of a site's owner, with a container of the image: from the first start to a thread on a page of another
// origin, whose readers sign in, answer each other, are notified of it and leave; and a backup that restores.

import assert from 'node:assert/strict';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { skip } from '../edge/gailou.mjs';
import { newContext } from './support/browser.mjs';
import { until, violations } from './support/console.mjs';
import { WAIT_MS } from './support/environment.mjs';
import { makeContainer, makeImage, removeFolder } from './support/image.mjs';
import { startMailServer } from './support/mail-server.mjs';
import { assertVisible, listIsLoaded, newText, openForm } from './support/page.mjs';
import {
  article,
  composer,
  dialog,
  freePort,
  isSignedIn,
  logIn,
  openBlog,
  openSignIn,
  post,
  providerSettings,
  serve,
  startProvider,
} from './support/sign-in.mjs';

/** A receiver of webhooks. */
async function startReceiver() {
  const received = [];
  const server = await serve((request, response, body) => {
    received.push({ headers: request.headers, body });
    response.writeHead(204).end();
  });
  return { ...server, received };
}

/** E2E_SHOTS names a folder for pictures of each step. */
async function shoot(page, name) {
  if (process.env.E2E_SHOTS) {
    await page.screenshot({ path: join(process.env.E2E_SHOTS, `${name}.png`) });
  }
}

describe('first day', { skip }, () => {
  test('from the first start to a backup that restores', { timeout: 180_000 }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gailou-first-day.'));
    // The last to begin is the first to end.
    const ends = [() => removeFolder(folder)];
    t.after(async () => {
      for (const end of ends.reverse()) await end();
    });
    const image = await makeImage(folder, process.env.E2E_GAILOU);
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const provider = await startProvider(`${origin}/v1/auth/certified/callback`);
    const [mail, receiver] = [await startMailServer(), await startReceiver()];
    const blog = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(
        `<!doctype html><html lang="en"><title>Blog</title><main><h1>Blog</h1></main>
        <script src="${origin}/gailou.js" data-subject="article/first-day" defer></script>`,
      );
    });
    for (const server of [provider, mail, receiver, blog]) ends.push(server.stop);
    const settings = {
      GAILOU_CONFIG: '/etc/gailou.toml',
      GAILOU_BIND: `127.0.0.1:${port}`,
      GAILOU_PUBLIC_URL: origin,
      GAILOU_MAIL__URL: mail.url,
      GAILOU_MAIL__FROM: 'comments@example.com',
      GAILOU_WEBHOOKS__ALLOW_PRIVATE: 'true',
    };
    const container = await makeContainer(image, join(folder, 'container'), settings);
    await container.write('etc/gailou.toml', providerSettings(provider));
    const gailou = await container.start();
    ends.push(gailou.stop);
    await container.check();

    // The first start prints an address; who opens it is the administrator.
    const owner = await newContext();
    ends.push(() => owner.close());
    const address = await until(
      async () => /(http:\S+\/v1\/auth\/admin\/\S+)/.exec(gailou.log())?.[1],
      Boolean,
    );
    const console_ = await owner.newPage();
    console_.setDefaultTimeout(WAIT_MS);
    await console_.goto(address);
    await console_.locator('nav').waitFor();
    await shoot(console_, '1-console');

    // A site is named in the settings: it may write from then on.
    await console_.getByRole('link', { name: 'Settings' }).click();
    await console_.locator('#setting-sites').fill(blog.url);
    await console_.getByRole('button', { name: 'Save' }).first().click();
    await until(
      async () => {
        const asked = await fetch(`${origin}/v1/guests`, {
          method: 'OPTIONS',
          headers: { origin: blog.url, 'access-control-request-method': 'POST' },
        });
        return asked.headers.get('access-control-allow-origin');
      },
      (allowed) => allowed === blog.url,
    );
    await shoot(console_, '2-settings');
    const answers = await container.run('doctor');
    assert.match(answers, new RegExp(`^ok +sites +pages of ${blog.url} may write$`, 'm'));
    assert.match(answers, /^ok +mail /m);
    assert.doesNotMatch(answers, /^error/m);
    await console_.getByRole('link', { name: 'Webhooks' }).click();
    await console_.getByLabel(/^Address/).fill(`${receiver.url}/hook`);
    await console_.getByLabel('published').check();
    await console_.getByRole('button', { name: 'Add' }).click();
    const secret = await console_.getByLabel('Its secret').inputValue();
    await shoot(console_, '3-webhook');

    // A reader signs in by a link in a mail, and chooses a name with the first comment.
    const first = await newContext();
    ends.push(() => first.close());
    const annsPage = await openBlog(first, blog, 'ann');
    await openSignIn(annsPage);
    assert.deepEqual(await violations(annsPage), []);
    await shoot(annsPage, '4-sign-in');
    await dialog(annsPage).getByLabel('Your e-mail address').fill('ann@example.com');
    await dialog(annsPage).getByRole('button', { name: 'Mail me a link' }).click();
    await assertVisible(dialog(annsPage).getByText('A link is on its way'), 'it is said');
    const { text: invitation } = await mail.mailTo('ann@example.com', '/v1/auth/email/');
    const opened = await first.newPage();
    await opened.goto(/http\S+\/v1\/auth\/email\/\S+/.exec(invitation)[0]);
    await shoot(opened, '5-link');
    await opened.getByRole('button', { name: 'Sign in' }).click();
    await opened.waitForURL(`${blog.url}/?ann`);
    await isSignedIn(opened);
    await opened.close();
    await annsPage.bringToFront();
    // A browser without a screen does not say that a window has the focus again.
    await annsPage.evaluate(() => window.dispatchEvent(new Event('focus')));
    await dialog(annsPage).waitFor({ state: 'detached' });
    const question = newText('Who has the ladder?');
    await composer(annsPage).getByLabel('Your name').fill('Ann');
    await post(composer(annsPage), question);
    await article(annsPage, question).waitFor();
    await assertVisible(composer(annsPage).getByText('Posting as Ann'), 'she has her name');
    await shoot(annsPage, '6-posted');

    // Another one signs in with a provider, and answers.
    const second = await newContext();
    ends.push(() => second.close());
    const bobsPage = await openBlog(second, blog, 'bob');
    await openSignIn(bobsPage);
    const popup = bobsPage.waitForEvent('popup');
    await dialog(bobsPage).getByRole('button', { name: 'Sign in with Certified' }).click();
    const windowOfProvider = await popup;
    await logIn(windowOfProvider, 'bob');
    await dialog(bobsPage).waitFor({ state: 'detached' });
    await assertVisible(composer(bobsPage).getByText('Posting as bob'), 'the provider’s name');
    await article(bobsPage, question).getByRole('button', { name: 'Reply' }).click();
    const answer = newText('I have it');
    await post(article(bobsPage, question).locator('form.composer'), answer);
    await article(bobsPage, answer).waitFor();
    await shoot(bobsPage, '7-answered');

    // She is notified by mail and by the bell; the webhook has both comments, signed.
    const notified = await mail.mailTo('ann@example.com', answer);
    assert.ok(notified.text.includes(question), 'the comment above it is in the mail');
    await annsPage.reload();
    await listIsLoaded(annsPage);
    const bell = annsPage.locator('gailou-comments').getByRole('button', { name: '1 unread' });
    await bell.click();
    await assertVisible(dialog(annsPage).getByText('bob replied to you'), 'who answered');
    await shoot(annsPage, '8-notified');
    await annsPage.keyboard.press('Escape');

    // She answers in turn.
    await article(annsPage, answer).getByRole('button', { name: 'Reply' }).click();
    const thanks = newText('Thank you');
    await post(article(annsPage, answer).locator('form.composer'), thanks);
    await article(annsPage, thanks).waitFor();
    const bobsBell = bobsPage.locator('gailou-comments').getByRole('button', { name: '1 unread' });
    await until(
      async () => {
        await bobsPage.reload();
        await listIsLoaded(bobsPage);
        await isSignedIn(bobsPage);
        return bobsBell.count();
      },
      (count) => count === 1,
    );
    await bobsBell.click();
    await assertVisible(dialog(bobsPage).getByText('Ann replied to you'), 'who answered him');
    await until(
      async () => receiver.received.length,
      (count) => count >= 3,
    );
    // The reference library of the standard refuses what is not signed, and what is old.
    const signature = new Webhook(secret);
    const sent = receiver.received.map(({ headers, body }) => signature.verify(body, headers));
    const [{ headers: signed, body: firstBody }] = receiver.received;
    assert.throws(() => signature.verify(firstBody.replace('created', 'deleted'), signed));
    assert.deepEqual(
      sent.map(({ type, data }) => [type, data.comment.content]),
      [
        ['comment.created', question],
        ['comment.created', answer],
        ['comment.created', thanks],
      ],
    );

    // One click ends the mails.
    const leave = /<(http[^>]+)>/.exec(notified.headers['list-unsubscribe'])[1];
    assert.equal(notified.headers['list-unsubscribe-post'], 'List-Unsubscribe=One-Click');
    const left = await fetch(leave, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    });
    assert.equal(left.status, 200);
    await openForm(composer(annsPage));
    await composer(annsPage).getByRole('button', { name: 'Your account' }).click();
    const choice = dialog(annsPage).getByLabel('Mail to ann@example.com');
    assert.equal(await choice.inputValue(), 'never');
    assert.deepEqual(await violations(annsPage), []);
    await shoot(annsPage, '9-account');

    // What she leaves behind is copied first.
    await container.run('backup', '/backups/first-day');
    const list = async (server) =>
      (await fetch(`${server}/v1/subjects/article/first-day/comments`)).json();
    const before = await list(origin);
    assert.equal(before.subject.comments, 3);

    // She takes her data, and leaves.
    const download = annsPage.waitForEvent('download');
    await dialog(annsPage).getByRole('button', { name: 'Download my data' }).click();
    const file = JSON.parse(await readFile(await (await download).path(), 'utf8'));
    assert.deepEqual(file.comments.map(({ content }) => content).sort(), [question, thanks].sort());
    await dialog(annsPage).getByRole('button', { name: 'Delete everything…' }).click();
    await dialog(annsPage).getByRole('button', { name: 'Delete everything for good' }).click();
    await assertVisible(dialog(annsPage).getByText('is being deleted'), 'it is said');
    await until(
      async () => (await list(origin)).data[0].author,
      (author) => author === null,
    );
    await shoot(annsPage, '10-erased');

    // The copy is the installation as it was, elsewhere.
    const other = await makeContainer(image, join(folder, 'elsewhere'), {
      ...settings,
      GAILOU_BIND: '127.0.0.1:0',
    });
    await other.write('etc/gailou.toml', providerSettings(provider));
    await other.takeBackups(container);
    await other.run('restore', '/backups/first-day');
    const restored = await other.start();
    ends.push(restored.stop);
    const after = await list(restored.url);
    assert.deepEqual(after.data, before.data);
  });
});
