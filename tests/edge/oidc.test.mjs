// Signing in with a certified OpenID Connect provider, from the window to the next token. E2E_GAILOU names the origin's
// program; without it the test is skipped.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';

import { Provider } from 'oidc-provider';

import { skip, startGailou } from './gailou.mjs';
import { newState } from './worker.mjs';

const SITE = 'http://localhost:4321';
const CLIENT = {
  client_id: 'gailou',
  client_secret: 'the secret of the client, of some length',
};

/** A provider of one client, whose accounts have names and addresses; its window asks for a login. */
async function startProvider(callback) {
  const server = createServer();
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      { ...CLIENT, redirect_uris: [callback], token_endpoint_auth_method: 'client_secret_basic' },
    ],
    claims: { openid: ['sub'], profile: ['name', 'picture'], email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    cookies: { keys: ['a key of the test'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        name: `${id} of the provider`,
        picture: 'https://provider.example/a.png',
        email: `${id}@example.com`,
        email_verified: id !== 'unverified',
      }),
    }),
  });
  server.on('request', provider.callback());
  return { issuer, stop: () => new Promise((done) => server.close(done)) };
}

/** A browser: it keeps cookies by host and path, and goes where it is sent. */
function newBrowser() {
  const cookies = new Map();
  const visit = async (url, options = {}) => {
    const { origin, pathname } = new URL(url);
    const own = [...cookies.values()].filter(
      (cookie) => cookie.origin === origin && pathname.startsWith(cookie.path),
    );
    const headers = {
      ...options.headers,
      cookie: own.map((cookie) => `${cookie.name}=${cookie.value}`).join('; '),
    };
    const answer = await fetch(url, { ...options, headers, redirect: 'manual' });
    for (const line of answer.headers.getSetCookie()) {
      const [pair, ...attributes] = line.split('; ');
      const at = pair.indexOf('=');
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
      const path = attributes.find((a) => /^path=/i.test(a))?.slice(5) ?? '/';
      cookies.set(`${origin} ${path} ${name}`, { origin, path, name, value });
    }
    const next = answer.headers.get('location');
    return next ? visit(new URL(next, url).href) : { answer, url, text: await answer.text() };
  };
  return visit;
}

/** Logs in at the provider and agrees, until it sends the browser back. */
async function logIn(visit, start, login) {
  let page = await visit(start);
  for (let steps = 0; steps < 4 && page.text.includes('name="prompt"'); steps += 1) {
    const action = /action="([^"]+)"/.exec(page.text)[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(page.text)[1];
    page = await visit(new URL(action, page.url).href, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ prompt, login, password: 'any' }).toString(),
    });
  }
  return page;
}

test('a reader signs in with an OpenID Connect provider and stays signed in', {
  skip,
}, async (t) => {
  const state = await newState();
  t.after(state.remove);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = await startProvider(`${origin}/v1/auth/certified/callback`);
  t.after(provider.stop);
  const config = join(state.dir, 'gailou.toml');
  await writeFile(
    config,
    `[[auth.providers]]\nid = "certified"\nname = "Certified"\nkind = "oidc"\nissuer = "${provider.issuer}"\n` +
      `client_id = "${CLIENT.client_id}"\nclient_secret = "${CLIENT.client_secret}"\n`,
  );
  const gailou = await startGailou(state.dir, {
    GAILOU_CONFIG: config,
    GAILOU_BIND: `127.0.0.1:${port}`,
    GAILOU_EDGE__REQUIRE_EDGE: 'false',
  });
  t.after(gailou.stop);

  const providers = await (await fetch(`${origin}/v1/auth/providers`)).json();
  assert.deepEqual(providers.data, [{ id: 'certified', name: 'Certified', kind: 'oidc' }]);

  const signIn = async (visit, login) => {
    const page = await logIn(visit, `${origin}/v1/auth/certified?site=${SITE}`, login);
    assert.equal(page.answer.status, 200, page.text + gailou.log());
    const [, message, site] = /postMessage\((\{.*?\}),("[^"]*")\)/.exec(page.text);
    assert.equal(JSON.parse(site), SITE);
    return JSON.parse(message);
  };
  const me = async (token) =>
    (await fetch(`${origin}/v1/me`, { headers: { authorization: `Bearer ${token}` } })).json();

  const visit = newBrowser();
  const first = await signIn(visit, 'ann');
  assert.equal(first.type, 'gailou:signed-in');
  const ann = await me(first.token);
  assert.deepEqual(
    [ann.name, ann.avatar, ann.email, ann.guest],
    ['ann of the provider', 'https://provider.example/a.png', 'ann@example.com', false],
  );

  const next = await visit(`${origin}/v1/auth/refresh`, {
    method: 'POST',
    headers: { origin: SITE },
  });
  assert.equal(next.answer.status, 200, next.text);
  assert.equal((await me(JSON.parse(next.text).token)).id, ann.id);

  assert.equal((await me((await signIn(newBrowser(), 'ann')).token)).id, ann.id, 'the same person');
  const other = await me((await signIn(newBrowser(), 'unverified')).token);
  assert.notEqual(other.id, ann.id);
  assert.equal(other.email, null, 'an address that the provider has not verified');
});

async function freePort() {
  const server = createServer();
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}
