// Reads the event stream of a subject without a browser.

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { BASE, WAIT_MS } from './environment.mjs';

/** A stream that a failed test leaves open would keep the process alive. */
const openStreams = new Set();
after(() => {
  for (const controller of openStreams) controller.abort();
});

/** Parses one event: lines of `name: value`. */
function parseEvent(text) {
  const fields = Object.fromEntries(text.split('\n').map((line) => line.split(/: ?(.*)/s)));
  if (!fields.event) return null;
  return { name: fields.event, id: fields.id, data: JSON.parse(fields.data) };
}

/** `next(n)` gives the next `n` events. `after` is the parameter, `lastEventId` the header. */
export async function openStream(subject, { after: version, lastEventId } = {}) {
  const controller = new AbortController();
  openStreams.add(controller);
  const query = version === undefined ? '' : `?after=${version}`;
  const response = await fetch(`${BASE}/v1/subjects/${subject}/events${query}`, {
    headers: {
      Accept: 'text/event-stream',
      ...(lastEventId ? { 'Last-Event-ID': lastEventId } : {}),
    },
    signal: controller.signal,
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = [];
  let unread = '';
  return {
    async next(count) {
      const timer = setTimeout(() => controller.abort(), WAIT_MS);
      while (events.length < count) {
        const { value, done } = await reader.read();
        assert.equal(done, false, 'the stream goes on');
        const blocks = (unread + value).split('\n\n');
        unread = blocks.pop();
        events.push(...blocks.map(parseEvent).filter(Boolean));
      }
      clearTimeout(timer);
      return events.splice(0, count);
    },
    close: () => controller.abort(),
  };
}
