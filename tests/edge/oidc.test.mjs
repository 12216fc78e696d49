// Signing in with a certified OpenID Connect provider, from the window to the next token. E2E_GAILOU names the origin's
// program; without it the test is skipped.

import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';

import { Provider } from 'oidc-provider';

import { skip, startGailou } from './gailou.mjs';
import { freePort, newState } from './worker.mjs';

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
  const gailou = await startWithProvider(state.dir, port, provider.issuer);
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

/** An origin at this port with one provider. */
async function startWithProvider(dir, port, issuer) {
  const config = join(dir, 'gailou.toml');
  await writeFile(
    config,
    `[[auth.providers]]\nid = "certified"\nname = "Certified"\nkind = "oidc"\nissuer = "${issuer}"\n` +
      `client_id = "${CLIENT.client_id}"\nclient_secret = "${CLIENT.client_secret}"\n`,
  );
  return startGailou(dir, {
    GAILOU_CONFIG: config,
    GAILOU_BIND: `127.0.0.1:${port}`,
    GAILOU_EDGE__REQUIRE_EDGE: 'false',
  });
}

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A provider that agrees to everything at once. `lie` changes what it says before it is signed, or by whom it is. */
async function startLiar() {
  const [own, stranger] = [0, 1].map(() => generateKeyPairSync('rsa', { modulusLength: 2_048 }));
  const liar = { lie: {}, asked: null };
  const answers = {
    '/.well-known/openid-configuration': () => ({
      issuer: liar.issuer,
      authorization_endpoint: `${liar.issuer}/auth`,
      token_endpoint: `${liar.issuer}/token`,
      jwks_uri: `${liar.issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    }),
    '/jwks': () => ({
      keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }],
    }),
    '/token': () => {
      const now = Math.floor(Date.now() / 1_000);
      const { claims, key = own.privateKey, header } = liar.lie;
      const said = {
        iss: liar.issuer,
        aud: CLIENT.client_id,
        sub: 'ann',
        iat: now,
        exp: now + 300,
        nonce: liar.asked.get('nonce'),
        ...claims?.(now),
      };
      const text = `${encode({ alg: 'RS256', kid: 'k', ...header })}.${encode(said)}`;
      const signature =
        header?.alg === 'none' ? '' : sign('RSA-SHA256', text, key).toString('base64url');
      return { access_token: 'a', token_type: 'Bearer', id_token: `${text}.${signature}` };
    },
  };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, liar.issuer);
    if (pathname === '/auth') {
      liar.asked = searchParams;
      const state = liar.lie.state ?? searchParams.get('state');
      const back = `${searchParams.get('redirect_uri')}?code=c&state=${state}`;
      response.writeHead(302, { location: back }).end();
      return;
    }
    let body = '';
    for await (const part of request) body += part;
    if (pathname === '/token') liar.verifier = new URLSearchParams(body).get('code_verifier');
    const answer = answers[pathname];
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer?.() ?? {}));
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  liar.issuer = `http://127.0.0.1:${server.address().port}`;
  liar.stranger = stranger.privateKey;
  liar.stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return liar;
}

test('what a provider says for another window, client, issuer or time signs no reader in', {
  skip,
}, async (t) => {
  const state = await newState();
  t.after(state.remove);
  const liar = await startLiar();
  t.after(liar.stop);
  const port = await freePort();
  const gailou = await startWithProvider(state.dir, port, liar.issuer);
  t.after(gailou.stop);
  const signIn = async (lie) => {
    liar.lie = lie;
    const { answer, text } = await newBrowser()(
      `http://127.0.0.1:${port}/v1/auth/certified?site=${SITE}`,
    );
    return { status: answer.status, isSignedIn: text.includes('postMessage'), text };
  };
  const honest = await signIn({});
  assert.deepEqual([honest.status, honest.isSignedIn], [200, true], honest.text + gailou.log());
  const challenge = createHash('sha256').update(liar.verifier).digest('base64url');
  assert.deepEqual(
    [liar.asked.get('code_challenge_method'), liar.asked.get('code_challenge')],
    ['S256', challenge],
  );

  const lies = {
    'another nonce': { claims: () => ({ nonce: randomUUID() }) },
    'no nonce': { claims: () => ({ nonce: undefined }) },
    'another issuer': { claims: () => ({ iss: 'https://accounts.google.com' }) },
    'another client': { claims: () => ({ aud: 'another' }) },
    'a token that is over': { claims: (now) => ({ iat: now - 900, exp: now - 600 }) },
    "a stranger's signature": { key: liar.stranger },
    'no signature': { header: { alg: 'none' } },
    'another state': { state: randomUUID() },
  };
  for (const [name, lie] of Object.entries(lies)) {
    const { status, isSignedIn, text } = await signIn(lie);
    assert.deepEqual([status, isSignedIn], [400, false], `${name}: ${text}`);
  }
  assert.equal((await signIn({})).isSignedIn, true, 'it is not locked out');
});
