// Signing in where the comments are of another site than the page, with encryption, as browsers see most installations:
// a cookie that one of them sets is not sent by pages of the other. The Worker stands in front of the origin, which answers
// nothing that the Worker has not signed.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { SECRETS, skip, startGailou } from '../edge/gailou.mjs';
import { newState, startWorker } from '../edge/worker.mjs';
import { until } from './support/console.mjs';
import { CHROMIUM } from './support/environment.mjs';
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
  startProvider,
} from './support/sign-in.mjs';

/** Makes a certificate that no one trusts; the browser of the test asks for no better one. */
async function makeCertificate(folder) {
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder, name));
  const subject = ['-subj', '/CN=test', '-days', '2', '-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject], {
    stdio: 'ignore',
  });
  return { key: await readFile(key), cert: await readFile(cert) };
}

/** E2E_SHOTS names a folder for pictures. */
async function shoot(page, name) {
  if (process.env.E2E_SHOTS) {
    await page.screenshot({ path: join(process.env.E2E_SHOTS, `${name}.png`) });
  }
}

async function serveEncrypted(certificate, port, answer) {
  const server = createServer(certificate, answer);
  await new Promise((ready) => server.listen(port, '127.0.0.1', ready));
  return () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
}

describe('two sites', { skip, timeout: 120_000 }, () => {
  const ends = [];
  let browser;
  let blog;
  let mail;

  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gailou-two-sites.'));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const certificate = await makeCertificate(folder);
    const [blogPort, commentsPort] = [await freePort(), await freePort()];
    const comments = `https://comments.test:${commentsPort}`;
    blog = { url: `https://blog.test:${blogPort}` };
    const provider = await startProvider(`${comments}/v1/auth/certified/callback`);
    ends.push(provider.stop);
    mail = await startMailServer();
    ends.push(mail.stop);
    const config = join(folder, 'gailou.toml');
    await writeFile(config, providerSettings(provider));
    const gailou = await startGailou(folder, {
      GAILOU_CONFIG: config,
      GAILOU_PUBLIC_URL: comments,
      GAILOU_SITES: blog.url,
      GAILOU_MAIL__URL: mail.url,
      GAILOU_MAIL__FROM: 'comments@example.com',
    });
    ends.push(gailou.stop);
    const state = await newState();
    ends.push(state.remove);
    const worker = await startWorker(state, { ORIGIN: gailou.url, ...SECRETS });
    ends.push(worker.stop);
    ends.push(
      await serveEncrypted(certificate, commentsPort, (asked, response) => {
        const { method, url: path, headers } = asked;
        const passed = request(`${worker.url}${path}`, { method, headers }, (answer) => {
          response.writeHead(answer.statusCode, answer.rawHeaders);
          answer.pipe(response);
        });
        passed.on('error', () => response.destroy());
        asked.pipe(passed);
      }),
    );
    ends.push(
      await serveEncrypted(certificate, blogPort, (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
        response.end(
          `<!doctype html><html lang="en"><title>Blog</title><main><h1>Blog</h1></main>
          <script src="${comments}/gailou.js" data-subject="article/two-sites" defer></script>`,
        );
      }),
    );
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--ignore-certificate-errors',
        '--test-third-party-cookie-phaseout',
        '--host-resolver-rules=MAP *.test 127.0.0.1',
      ],
    });
    ends.push(() => browser.close());
  });

  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  /** The token to write with is over: the page gets another one by its cookie. */
  async function staysSignedIn(page) {
    await isSignedIn(page);
    const refreshed = page.waitForResponse((answer) => answer.url().endsWith('/v1/auth/refresh'));
    // In one step: the page may store what it got meanwhile.
    await page.evaluate(() => {
      const key = Object.keys(localStorage).find((name) => name.startsWith('gailou:session:'));
      const session = JSON.parse(localStorage.getItem(key));
      localStorage.setItem(key, JSON.stringify({ ...session, expires_at: 1 }));
      location.reload();
    });
    assert.equal((await refreshed).status(), 200);
    await isSignedIn(page);
  }

  /** Signs in by the link of a mail, which is opened in another tab; that tab, at the end of it. */
  async function followMailedLink(page, address) {
    await dialog(page).getByLabel('Your e-mail address').fill(address);
    await dialog(page).getByRole('button', { name: 'Mail me a link' }).click();
    const { text } = await mail.mailTo(address, '/v1/auth/email/');
    const link = /https\S+\/v1\/auth\/email\/\S+/.exec(text)[0];
    const opened = await page.context().newPage();
    await opened.goto(link);
    await opened.getByRole('button', { name: 'Sign in' }).click();
    await opened.waitForURL(page.url());
    return opened;
  }

  test('mailed link leads back to the page that asked for it, which stays signed in', async () => {
    const context = await browser.newContext({ locale: 'en-US' });
    const page = await openBlog(context, blog, 'mail');
    await openSignIn(page);
    const opened = await followMailedLink(page, 'ann@example.com');
    await isSignedIn(opened);
    await staysSignedIn(opened);
    await page.bringToFront();
    // A browser without a screen does not say that a window has the focus again.
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await dialog(page).waitFor({ state: 'detached' });
    await staysSignedIn(page);
    await context.close();
  });

  test('guest who signs in by mail keeps their name, and chooses what they are mailed', async () => {
    const context = await browser.newContext({ locale: 'en-US' });
    const page = await openBlog(context, blog, 'guest');
    const text = newText('Before I signed in');
    await openForm(composer(page));
    await composer(page).getByLabel('Your name').fill('Gus Gooseberry');
    await post(composer(page), text);
    await assertVisible(article(page, text).getByText('Guest', { exact: true }), 'a guest');
    await composer(page).getByRole('button', { name: 'Sign in' }).click();
    const opened = await followMailedLink(page, 'gus@example.com');
    await openForm(composer(opened));
    await assertVisible(composer(opened).getByText('Posting as Gus Gooseberry'), 'the same name');
    const own = article(page, text);
    await own.getByText('Guest', { exact: true }).waitFor({ state: 'detached' });
    await assertVisible(own.getByText('Gus Gooseberry'), 'the author');

    const settings = () => [
      dialog(opened).getByLabel('Mail to gus@example.com'),
      dialog(opened).getByLabel('Language of mails'),
    ];
    const openAccount = async () => {
      await openForm(composer(opened));
      await composer(opened).getByRole('button', { name: 'Your account' }).click();
      await settings()[0].waitFor();
      return Promise.all(settings().map((choice) => choice.inputValue()));
    };
    const before = [];
    for (const [at, value] of ['daily', 'zh-CN'].entries()) {
      before.push(await openAccount());
      await settings()[at].selectOption(value);
      await assertVisible(dialog(opened).getByText('Your change is saved.'), 'it is said');
      await opened.keyboard.press('Escape');
    }
    assert.deepEqual(before, [
      ['each', 'en'],
      ['daily', 'en'],
    ]);
    await opened.reload();
    await listIsLoaded(opened);
    assert.deepEqual(await openAccount(), ['daily', 'zh-CN']);
    await context.close();
  });

  /** The reader signs in in the window of the provider. */
  async function signIn(page, name) {
    await openSignIn(page);
    const popup = page.waitForEvent('popup');
    const exchanged = page.waitForResponse((answer) => answer.url().endsWith('/v1/auth/session'));
    await dialog(page).getByRole('button', { name: 'Sign in with Certified' }).click();
    await logIn(await popup, name);
    await dialog(page).waitFor({ state: 'detached' });
    assert.equal((await exchanged).status(), 200);
  }

  test('window of a provider signs the page in, which stays signed in', async () => {
    const context = await browser.newContext({ locale: 'en-US' });
    const page = await openBlog(context, blog, 'provider');
    await signIn(page, 'bob');
    await staysSignedIn(page);
    await context.close();
  });

  test('refresh without an answer signs no one out', async () => {
    const context = await browser.newContext({ locale: 'en-US' });
    const page = await openBlog(context, blog, 'offline');
    await signIn(page, 'dora');
    let failed = 0;
    await page.route('**/v1/auth/refresh', (route) => {
      failed += 1;
      return route.abort('internetdisconnected');
    });
    await page.evaluate(() => {
      const key = Object.keys(localStorage).find((name) => name.startsWith('gailou:session:'));
      const session = JSON.parse(localStorage.getItem(key));
      localStorage.setItem(key, JSON.stringify({ ...session, expires_at: 1 }));
      location.reload();
    });
    await until(
      async () => failed,
      (count) => count > 0,
    );
    await isSignedIn(page);
    await page.unroute('**/v1/auth/refresh');
    const refreshed = page.waitForResponse((answer) => answer.url().endsWith('/v1/auth/refresh'));
    await page.evaluate(() => window.dispatchEvent(new Event('online')));
    assert.equal((await refreshed).status(), 200);
    await openForm(composer(page));
    await assertVisible(composer(page).getByText('Posting as dora'), 'the reader is who they were');
    await context.close();
  });

  test('the first of two mailed links signs in, too', async () => {
    const context = await browser.newContext({ locale: 'en-US' });
    const page = await openBlog(context, blog, 'twice');
    await openSignIn(page);
    const ask = async () => {
      await dialog(page).getByLabel('Your e-mail address').fill('eve@example.com');
      await dialog(page).getByRole('button', { name: 'Mail me a link' }).click();
      await assertVisible(dialog(page).getByText('A link is on its way'), 'it is said');
    };
    await ask();
    const { text } = await mail.mailTo('eve@example.com', '/v1/auth/email/');
    await page.reload();
    await listIsLoaded(page);
    await openSignIn(page);
    await ask();
    const opened = await context.newPage();
    await opened.goto(/https\S+\/v1\/auth\/email\/\S+/.exec(text)[0]);
    await opened.getByRole('button', { name: 'Sign in' }).click();
    await opened.waitForURL(`${blog.url}/?twice`);
    await isSignedIn(opened);
    await context.close();
  });

  test('picture of an account is set by its address, and removed', async () => {
    const context = await browser.newContext({ locale: 'en-US' });
    const page = await openBlog(context, blog, 'picture');
    await signIn(page, 'carol');
    await composer(page).getByRole('button', { name: 'Your account' }).click();
    const panel = dialog(page);
    const field = panel.getByLabel('Address of your picture');
    const form = panel.locator('form').filter({ has: page.getByLabel('Address of your picture') });
    const remove = form.getByRole('button', { name: 'Remove picture' });
    await field.waitFor();
    assert.deepEqual([await field.inputValue(), await remove.isVisible()], ['', false]);
    assert.equal(await form.locator('.avatar').textContent(), 'C');
    await field.fill('http://pictures.test/carol.png');
    await form.getByRole('button', { name: 'Save' }).click();
    await assertVisible(form.getByText('begins with https://'), 'why it is refused');
    assert.equal(await panel.getByText('Your change is saved.').count(), 0);
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    await field.fill('https://pictures.test/carol.png');
    await form.getByRole('button', { name: 'Save' }).click();
    await assertVisible(panel.getByText('Your change is saved.'), 'it is said');
    assert.equal(await form.getByText('begins with https://').count(), 0);
    // It is the server's copy, or its drawing where there is none.
    const copy = await form.locator('.avatar img').getAttribute('src');
    assert.match(copy, /^https:\/\/comments\.test:\d+\/v1\/avatars\/\w+$/);
    await shoot(page, 'account-picture');
    await page.keyboard.press('Escape');
    await composer(page).getByRole('button', { name: 'Your account' }).click();
    await field.waitFor();
    assert.equal(await field.inputValue(), 'https://pictures.test/carol.png');
    await remove.click();
    await assertVisible(panel.getByText('Your change is saved.'), 'it is said');
    assert.deepEqual([await field.inputValue(), await remove.isVisible()], ['', false]);
    assert.equal(await form.locator('.avatar img').count(), 0);
    await context.close();
  });

  test('link of another browser signs no one in', async () => {
    const context = await browser.newContext({ locale: 'en-US' });
    const exchanged = [];
    context.on('request', (asked) => {
      if (asked.url().endsWith('/v1/auth/session')) exchanged.push(asked.method());
    });
    const page = await openBlog(context, blog, `#gailou-code=${'0'.repeat(64)}&gailou-state=1-2-3`);
    await assertVisible(composer(page), 'the page is as before');
    assert.deepEqual(exchanged, []);
    await context.close();
  });
});
