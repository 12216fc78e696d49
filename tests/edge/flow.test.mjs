// One comment through the edge to the real origin and back. E2E_GAILOU names the origin's program;
// without it the test is skipped.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { eventually, SECRETS, skip, startGailou } from './gailou.mjs';
import { newState, startWorker } from './worker.mjs';

test('guest posts, likes and reads through the edge, and reads during an outage', {
  skip,
}, async (t) => {
  const state = await newState();
  t.after(state.remove);
  let gailou = await startGailou(state.dir);
  t.after(() => gailou?.stop());
  const worker = await startWorker(state, { ORIGIN: gailou.url, ...SECRETS });
  t.after(worker.stop);

  const call = async (method, path, { body, ...headers } = {}) => {
    const json = body && { 'content-type': 'application/json' };
    const options = {
      method,
      headers: { ...json, ...headers },
      body: body && JSON.stringify(body),
    };
    const response = await fetch(worker.url + path, options);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text && JSON.parse(text),
      text,
    };
  };

  const list = '/v1/subjects/article/flow/comments';
  const empty = await call('GET', list);
  assert.deepEqual([empty.status, empty.body.data], [200, []], empty.text);

  const guest = await call('POST', '/v1/guests', { body: { name: 'Ann' } });
  assert.equal(guest.status, 201, guest.text);
  const own = { authorization: `Bearer ${guest.body.token}` };

  const key = { 'idempotency-key': 'flow-1' };
  const posted = await call('POST', list, { ...own, ...key, body: { content: 'first 楼' } });
  assert.equal(posted.status, 201, posted.text);
  const again = await call('POST', list, { ...own, ...key, body: { content: 'first 楼' } });
  assert.deepEqual([again.status, again.body.id], [201, posted.body.id], 'sent twice, posted once');

  const shown = await eventually(async () => {
    const page = await call('GET', list);
    return page.body.data?.length ? page : null;
  });
  assert.deepEqual(
    shown.body.data.map((c) => [c.id, c.content]),
    [[posted.body.id, 'first 楼']],
  );
  const known = await call('GET', list, {
    'if-none-match': shown.headers.get('etag'),
    'cache-control': 'max-age=0',
  });
  assert.equal(known.status, 304);

  const long = { content: '一层一层地盖楼。'.repeat(200) };
  const second = await call('POST', list, { ...own, body: long });
  assert.equal(second.status, 201, second.text);
  const gzipped = await eventually(async () => {
    const page = await call('GET', list, { 'accept-encoding': 'gzip' });
    // The local server compresses what the Worker does not, and leaves its tag as it is.
    const isCompressed = page.headers.get('etag').startsWith('W/');
    return isCompressed && page.body.data.length === 2 ? page : null;
  });
  assert.equal(gzipped.headers.get('content-encoding'), 'gzip');
  const bytes = Number(gzipped.headers.get('content-length'));
  assert.ok(bytes < gzipped.text.length / 2, `${bytes} bytes of ${gzipped.text.length}`);
  const plain = await call('GET', list, { 'accept-encoding': 'identity' });
  assert.deepEqual(
    [plain.headers.get('content-encoding'), plain.text],
    [null, gzipped.text],
    'the same page in another coding',
  );
  assert.equal(plain.headers.get('vary'), 'accept-encoding');

  const liked = await call('PUT', `/v1/comments/${posted.body.id}/like`, own);
  assert.deepEqual([liked.status, liked.body.likes], [200, 1], liked.text);
  const overlay = await call('GET', `/v1/me/overlay?ids=${posted.body.id}`, own);
  assert.equal(overlay.body.data[posted.body.id].reaction, 'like', overlay.text);
  assert.match(overlay.headers.get('cache-control'), /private, no-store/);

  await gailou.stop();
  gailou = null;
  const stale = await eventually(async () => {
    const page = await call('GET', list);
    return page.headers.get('x-gailou-stale') ? page : null;
  });
  assert.equal(stale.body.data.length, 2);
  const lost = await call('POST', list, { ...own, body: { content: 'second' } });
  assert.deepEqual([lost.status, lost.body.code], [503, 'origin_unreachable']);
});
