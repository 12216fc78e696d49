// Passkeys at the console, with the virtual authenticator of Chromium: the administrator opens the one-time address,
// adds a passkey, and signs in with it from then on.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { skip, startGailou } from '../edge/gailou.mjs';
import { newContext } from './support/browser.mjs';
import { smallTargets, until, violations } from './support/console.mjs';
import { DESKTOP, NARROW, WAIT_MS } from './support/environment.mjs';

async function freePort() {
  const server = createServer();
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** An authenticator of the device that verifies its user, and does so at once. */
async function addAuthenticator(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  };
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', { options });
  return {
    credentials: async () =>
      (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    setVerified: (isUserVerified) =>
      devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
}

const button = (page, name) => page.getByRole('button', { name, exact: true });
const dialog = (page) => page.locator('dialog[open]');
const alert = (page) => page.getByRole('alert');

async function openPasskeys(page, name = 'Passkeys') {
  await button(page, name).click();
  await dialog(page).locator('form').waitFor();
}

/** E2E_SHOTS names a folder for pictures of each step. */
async function shoot(page, name) {
  if (!process.env.E2E_SHOTS) return;
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({
      path: join(process.env.E2E_SHOTS, `passkeys-${name}-${colorScheme}.png`),
    });
  }
}

/** What is wrong with the page as it is, for who reads it by other means or on a phone. */
async function check(page, name) {
  for (const viewport of [NARROW, DESKTOP]) {
    await page.setViewportSize(viewport);
    assert.deepEqual(await violations(page), [], name);
    if (viewport === NARROW) assert.deepEqual(await smallTargets(page), [], name);
    const overflow = () =>
      document.documentElement.scrollWidth - document.documentElement.clientWidth;
    assert.equal(await page.evaluate(overflow), 0, name);
    await shoot(page, `${name}-${viewport.width}`);
  }
}

describe('passkeys', { skip }, () => {
  test('the administrator signs in with a passkey', { timeout: 120_000 }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gailou-passkeys.'));
    // The last to begin is the first to end.
    const ends = [() => rm(folder, { recursive: true, force: true })];
    t.after(async () => {
      for (const end of ends.reverse()) await end();
    });
    const port = await freePort();
    // An address of numbers has no passkeys.
    const origin = `http://localhost:${port}`;
    const gailou = await startGailou(folder, {
      GAILOU_BIND: `127.0.0.1:${port}`,
      GAILOU_PUBLIC_URL: origin,
      GAILOU_EDGE__REQUIRE_EDGE: 'false',
    });
    ends.push(gailou.stop);
    const context = await newContext({ viewport: DESKTOP });
    ends.push(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const authenticator = await addAuthenticator(page);
    const address = await until(
      async () => /(http:\S+\/v1\/auth\/admin\/\S+)/.exec(gailou.log())?.[1],
      Boolean,
    );
    await page.goto(address);
    await page.locator('nav').waitFor();

    await openPasskeys(page);
    await dialog(page).getByText('You have none yet.').waitFor();
    // A device that does not verify its user makes none.
    await authenticator.setVerified(false);
    await button(page, 'Add a passkey').click();
    await alert(page).filter({ hasText: 'No passkey was made.' }).waitFor();
    assert.equal((await authenticator.credentials()).length, 0);
    await authenticator.setVerified(true);
    await page.getByLabel('What you call it').fill('My laptop');
    await button(page, 'Add a passkey').click();
    const row = dialog(page).locator('li').filter({ hasText: 'My laptop' });
    await row.filter({ hasText: 'not used yet' }).waitFor();
    const [made] = await authenticator.credentials();
    assert.deepEqual([made.isResidentCredential, made.rpId], [true, 'localhost']);
    await page.getByLabel('What you call it').fill('The same');
    await button(page, 'Add a passkey').click();
    await alert(page).filter({ hasText: 'has a passkey of yours already' }).waitFor();
    await check(page, 'dialog');
    await button(page, 'Close').click();

    // Signed out, the passkey is all that is left.
    await button(page, 'Sign out').click();
    await button(page, 'Sign in with a passkey').waitFor();
    await until(
      async () => (await context.cookies(`${origin}/v1/auth`)).length,
      (count) => count === 0,
    );
    await page.reload();
    await check(page, 'sign-in');
    await authenticator.setVerified(false);
    await button(page, 'Sign in with a passkey').click();
    await alert(page).filter({ hasText: 'No passkey was chosen.' }).waitFor();
    await authenticator.setVerified(true);
    await button(page, 'Sign in with a passkey').click();
    await page.locator('nav').waitFor();
    // It stays signed in by its cookie, also in another tab.
    const tab = await context.newPage();
    tab.setDefaultTimeout(WAIT_MS);
    await tab.goto(`${origin}/console`);
    await tab.locator('nav').waitFor();
    await tab.close();

    await openPasskeys(page);
    await row.filter({ hasText: 'last used' }).waitFor();
    await button(page, 'Close').click();
    await button(page, '中文').click();
    await openPasskeys(page, '通行密钥');
    await row.filter({ hasText: '上次使用' }).waitFor();
    await check(page, 'dialog-zh');
    await page.getByRole('button', { name: '移除 My laptop' }).click();
    await button(page, '取消').click();
    await page.getByRole('button', { name: '移除 My laptop' }).click();
    await button(page, '确认移除').click();
    await dialog(page).getByText('还没有通行密钥。').waitFor();
    await button(page, '关闭').click();

    // The device has it still; here it is nothing any more.
    await button(page, '退出').click();
    await button(page, '使用通行密钥登录').click();
    await alert(page).filter({ hasText: 'this passkey does not sign in here' }).waitFor();
    assert.equal(await page.locator('nav').count(), 0);
    assert.deepEqual(await context.cookies(`${origin}/v1/auth`), []);
    await check(page, 'sign-in-zh');
  });
});
