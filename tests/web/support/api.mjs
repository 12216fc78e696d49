// Calls of the HTTP contract without a browser.

import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BASE, TOKEN_SECRET, WAIT_MS } from './environment.mjs';

const POLL_MS = 100;

export const newSubject = (type = 'article') => `${type}/test-${randomUUID()}`;

/** `article/a/b` → `article/a%2Fb`. */
export function subjectPath(subject) {
  return subject.replace(/\/(.*)$/s, (_, key) => `/${encodeURIComponent(key)}`);
}

/** `data` is the parsed JSON, or null. */
export async function call(method, path, { body, token } = {}) {
  const response = await fetch(BASE + path, {
    method,
    headers: {
      'Content-Type': 'application/json',
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
    },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  const data = isJson && text ? JSON.parse(text) : null;
  return { status: response.status, headers: response.headers, text, data };
}

/** The token of a new guest; no member may have this name. */
export async function guestToken(name = 'Writer') {
  const { status, data, text } = await call('POST', '/v1/guests', { body: { name } });
  assert.equal(status, 201, text);
  return data.token;
}

/** A token as the host site signs it. */
export function memberToken(sub, name, role = 'member', level = 0) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const claims = { sub, name, role, level, aud: 'gailou', exp };
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', TOKEN_SECRET).update(signed).digest('base64url')}`;
}

/** Posts and returns the answer, also a refusal. */
export function tryPostComment(subject, content, token, parentId) {
  const body = parentId ? { content, parent_id: parentId } : { content };
  return call('POST', `/v1/subjects/${subjectPath(subject)}/comments`, { body, token });
}

export async function postComment(...parameters) {
  const { status, data, text } = await tryPostComment(...parameters);
  assert.equal(status, 201, text);
  return data;
}

/** Repeats a call until `isRight` accepts the answer: the first ones may come from caches. */
export async function callUntil(path, isRight, options) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const answer = await call('GET', path, options);
    if (isRight(answer)) return answer;
    assert.ok(Date.now() < deadline, `${path}: ${answer.status} ${answer.text.slice(0, 2_000)}`);
    await sleep(POLL_MS);
  }
}

/** The list of a subject as soon as it has this many roots. */
export async function listWithRoots(subject, count) {
  const path = `/v1/subjects/${subjectPath(subject)}/comments`;
  return (await callUntil(path, ({ data }) => data?.data?.length >= count)).data;
}
