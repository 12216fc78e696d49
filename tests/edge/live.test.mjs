// Live updates: events of the real origin through the edge's event streams.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SECRETS, skip, startGailou, token } from './gailou.mjs';
import { newState, startWorker } from './worker.mjs';

/** The longest time from a commit to its event, in milliseconds: twice what the edge promises. */
const BOUND_MS = 8_000;

/** Yields the events of a stream: `{ type, id, data }`. */
async function* events(response) {
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      const field = (name) => block.match(new RegExp(`^${name}: ?(.*)$`, 'm'))?.[1];
      if (field('event'))
        yield { type: field('event'), id: field('id'), data: JSON.parse(field('data')) };
    }
  }
}

test('new comment and its removal reach a subscriber, and a reconnect repeats no event', {
  skip,
}, async (t) => {
  const state = await newState();
  t.after(state.remove);
  const gailou = await startGailou(state.dir, { GAILOU_LIMITS: 'off' });
  t.after(gailou.stop);
  const worker = await startWorker(state, { ORIGIN: gailou.url, ...SECRETS });
  t.after(worker.stop);

  const subject = `${worker.url}/v1/subjects/article/watched`;
  const as = (role) => ({
    authorization: `Bearer ${token('7', 'Ann', role)}`,
    'content-type': 'application/json',
  });
  const post = async (content) => {
    const answer = await fetch(`${subject}/comments`, {
      method: 'POST',
      headers: as('member'),
      body: JSON.stringify({ content }),
    });
    assert.equal(answer.status, 201);
    return (await answer.json()).id;
  };
  await post('there before');

  const open = async (headers) => {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(new Error('nothing came')), 3 * BOUND_MS);
    const response = await fetch(`${subject}/events`, {
      headers: { accept: 'text/event-stream', ...headers },
      signal: stop.signal,
    });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type'), /^text\/event-stream/);
    const close = () => {
      clearTimeout(timer);
      stop.abort();
    };
    return { stream: events(response), close };
  };
  const until = async (stream, type) => {
    for (;;) {
      const { value } = await stream.next();
      if (value.type === type) return value;
    }
  };

  const first = await open({});
  const id = await post('seen at once');
  const posted = Date.now();
  const published = await until(first.stream, 'comment');
  assert.equal(published.data.id, id);
  assert.ok(Date.now() - posted < BOUND_MS);
  first.close();

  const gone = await fetch(`${worker.url}/v1/comments/${id}`, {
    method: 'DELETE',
    headers: as('moderator'),
  });
  assert.equal(gone.status, 204);
  const later = await post('after the break');
  const second = await open({ 'last-event-id': published.id });
  const removed = await until(second.stream, 'removed');
  assert.equal(removed.data.id, id);
  assert.equal(
    (await until(second.stream, 'comment')).data.id,
    later,
    'and not the first one again',
  );
  second.close();
});
