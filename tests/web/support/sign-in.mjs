// What a test of signing in needs beside the installation: a provider, a blog, and the steps of a reader.

import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { WAIT_MS } from './environment.mjs';
import { listIsLoaded } from './page.mjs';
export const CLIENT = {
  client_id: 'gailou',
  client_secret: 'the secret of the client, of some length',
};

/** Starts a server of this machine; `answer` gets each request with its body. */
export async function serve(answer) {
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    answer(request, response, Buffer.concat(chunks).toString('utf8'));
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { url: `http://127.0.0.1:${server.address().port}`, stop };
}

/** A certified provider with its own windows for logging in and agreeing. */
export async function startProvider(callback) {
  let handle;
  const server = createServer((request, response) => handle(request, response));
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      { ...CLIENT, redirect_uris: [callback], token_endpoint_auth_method: 'client_secret_basic' },
    ],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    cookies: { keys: ['a key of the test'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: id, email: `${id}@example.com`, email_verified: true }),
    }),
  });
  handle = provider.callback();
  const stop = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { issuer, stop };
}

/** The section of a configuration that names the provider. */
export const providerSettings = ({ issuer }) =>
  `[[auth.providers]]\nid = "certified"\nname = "Certified"\nkind = "oidc"\nissuer = "${issuer}"\n` +
  `client_id = "${CLIENT.client_id}"\nclient_secret = "${CLIENT.client_secret}"\n`;

/** Logs in in the window of the provider. */
export async function logIn(window, name) {
  await window.locator('input[name="login"]').fill(name);
  await window.locator('input[name="password"]').fill('any');
  await window.locator('button[type="submit"]').click();
  await window.getByRole('button', { name: 'Continue' }).click();
}

export async function freePort() {
  const server = await serve(() => {});
  await server.stop();
  return Number(new URL(server.url).port);
}

export const composer = (page) => page.locator('gailou-comments section > form.composer');
export const dialog = (page) => page.locator('gailou-comments dialog[open]');
export const article = (page, text) =>
  page
    .locator('gailou-comments [data-id]:not([data-id^="sending"])')
    .filter({ hasText: text })
    .last();

export async function openBlog(context, blog, lang) {
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(`${blog.url}/?${lang}`);
  await listIsLoaded(page);
  return page;
}

/** Waits until the page has a session. Who has no name yet looks like a reader who is unknown. */
export const isSignedIn = (page) =>
  page.waitForFunction(() =>
    Object.keys(localStorage).some((name) => name.startsWith('gailou:session:')),
  );

/** Opens the choice of how to sign in. */
export async function openSignIn(page) {
  await composer(page).locator('textarea').focus();
  await composer(page).getByRole('button', { name: 'Sign in' }).click();
  await dialog(page).waitFor();
}

export async function post(form, text) {
  await form.locator('textarea').fill(text);
  await form.locator('button[type="submit"]').click();
}
