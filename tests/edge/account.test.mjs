// A reader of the edge signs in by mail, takes over what they wrote as a guest, and ends the mails by the address in one
// of them. Every address leads to the edge. E2E_GAILOU names the origin's program; without it the test is skipped.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startMailServer } from '../web/support/mail-server.mjs';
import { eventually, SECRETS, skip, startGailou } from './gailou.mjs';
import { freePort, newState, startWorker } from './worker.mjs';

const SITE = 'http://localhost:4321';
const MAIL = 'ann@example.com';
const COMMENTS = '/v1/subjects/article/account/comments';

test('mailed links, a merge and the end of the mails go through the edge', { skip }, async (t) => {
  const [state, mail] = [await newState(), await startMailServer()];
  t.after(state.remove);
  t.after(mail.stop);
  const port = await freePort();
  const worker = await startWorker(state, { ORIGIN: `http://127.0.0.1:${port}`, ...SECRETS });
  t.after(worker.stop);
  const edge = new URL(worker.url).origin;
  const gailou = await startGailou(state.dir, {
    GAILOU_BIND: `127.0.0.1:${port}`,
    GAILOU_PUBLIC_URL: edge,
    GAILOU_SITES: SITE,
    GAILOU_MAIL__URL: mail.url,
    GAILOU_MAIL__FROM: 'comments@example.com',
  });
  t.after(gailou.stop);

  const call = async (method, url, { body, token, status = 200, headers = {} } = {}) => {
    const response = await fetch(new URL(url, edge), {
      method,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    assert.equal(response.status, status, `${method} ${url}: ${text}`);
    return text;
  };
  const ask = async (...parameters) => JSON.parse(await call(...parameters));
  const register = (name) => ask('POST', '/v1/guests', { body: { name }, status: 201 });
  const post = (content, token, parent_id) =>
    ask('POST', COMMENTS, { body: { content, parent_id }, token, status: 201 });

  const guest = await register('Gus Gooseberry');
  const written = await post('written as a guest', guest.token);

  await call('POST', '/v1/auth/email', { body: { email: MAIL, site: SITE }, status: 202 });
  const [link] = /http\S+\/v1\/auth\/\S+/.exec((await mail.mailTo(MAIL, '/v1/auth/')).text);
  assert.equal(new URL(link).origin, edge);
  assert.match(await call('GET', link), /<form[^>]* method="?post/i);
  // A page of a stranger presses no button.
  await call('POST', link, { headers: { origin: SITE }, status: 400 });
  const page = await call('POST', link, { headers: { origin: edge } });
  const { token } = JSON.parse(/postMessage\((\{.*?\}),/.exec(page)[1]);
  await call('PATCH', '/v1/me', { body: { name: 'Ann' }, token });

  await call('POST', '/v1/me/merge', { body: { guest_token: guest.token }, token });
  const author = await eventually(async () => {
    const { data } = await ask('GET', COMMENTS);

    const found = data.find(({ id }) => id === written.id)?.author;
    return found?.name === 'Ann' && found;
  });
  assert.equal(author.guest, false);
  await call('PATCH', '/v1/guests/me', { body: { name: 'Gus' }, token: guest.token, status: 401 });

  const bo = await register('Bo');
  await post('an answer to what a guest wrote', bo.token, written.id);
  const { headers } = await mail.mailTo(MAIL, 'an answer to what a guest wrote');
  const leave = /<(http[^>]+)>/.exec(headers['list-unsubscribe'])[1];
  assert.equal(new URL(leave).origin, edge);
  assert.match(await call('GET', leave), /<form method="post">/);
  const choice = async () => (await ask('GET', '/v1/me', { token })).notify;
  assert.equal(await choice(), 'each', 'who looks at the page changes nothing');
  await call('POST', leave.slice(0, -1), { status: 403 });
  const click = await fetch(leave, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  });
  assert.equal(click.status, 200);
  assert.equal(await choice(), 'never');
});
