// The event stream of a subject, through the edge, without a browser.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, guestToken, listWithRoots, newSubject, postComment } from './support/api.mjs';
import { BASE, skipWithout } from './support/environment.mjs';
import { openStream } from './support/event-stream.mjs';

const READERS = 20;

/** The next events up to the first that matches, which is included. */
async function eventsUntil(stream, isLast) {
  const events = [];
  while (!events.some(isLast)) events.push(...(await stream.next(1)));
  return events;
}

describe('event stream', { skip: skipWithout({ E2E_BASE: BASE }) }, () => {
  test('every reader gets every event, and a reconnect gets the missed ones', async () => {
    const subject = newSubject();
    const token = await guestToken();
    const first = await postComment(subject, 'One', token);
    const { epoch } = (await listWithRoots(subject, 1)).page;
    const opening = Array.from({ length: READERS }, () => openStream(subject, { after: epoch }));
    const streams = await Promise.all(opening);
    const second = await postComment(subject, 'Two', token);
    const received = await Promise.all(streams.map((stream) => stream.next(2)));
    for (const [comment, counts] of received) {
      assert.deepEqual([comment.name, comment.data.id], ['comment', second.id]);
      assert.deepEqual([counts.name, counts.data], ['counts', { roots: 2, comments: 2 }]);
    }
    // Only the last event of a version has its id: a reader that disconnects before it gets all of them again.
    const [comment, counts] = received[0];
    assert.ok(comment.id === undefined && Number(counts.id) > Number(epoch));
    for (const stream of streams.slice(1)) stream.close();
    await call('DELETE', `/v1/comments/${second.id}`, { token });
    const reply = await postComment(subject, 'Below', token, first.id);
    const returning = await openStream(subject, { lastEventId: counts.id });
    for (const stream of [streams[0], returning]) {
      const isReply = ({ name, data }) => name === 'comment' && data.id === reply.id;
      const isRemoval = ({ name, data }) => name === 'removed' && data.id === second.id;
      const events = await eventsUntil(stream, isReply);
      assert.ok(events.some(isRemoval));
      assert.ok(events.every(({ id }) => id === undefined || Number(id) > Number(counts.id)));
      stream.close();
    }
  });

  test('unknown Last-Event-ID is answered by a reset, and the stream continues', async () => {
    const subject = newSubject();
    const token = await guestToken();
    await postComment(subject, 'One', token);
    await listWithRoots(subject, 1);
    const stream = await openStream(subject, { lastEventId: '999999999' });
    const [reset] = await stream.next(1);
    assert.equal(reset.name, 'reset');
    await postComment(subject, 'Two', token);
    const [comment, counts] = await stream.next(2);
    assert.equal(comment.name, 'comment');
    assert.ok(Number(counts.id) > Number(reset.id));
    stream.close();
  });

  test('unknown subject type is 404', async () => {
    const { status, data } = await call('GET', '/v1/subjects/nope/1/events');
    assert.deepEqual([status, data.code], [404, 'unknown_subject_type']);
  });
});
