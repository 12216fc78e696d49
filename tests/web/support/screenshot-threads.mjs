// The threads of the screenshots, one of each mode: comments with fixed authors, times and likes are imported, and what an
// import does not bring is added: the owner, a mark, and a picture. The answers that are drawn are those of the origin.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PNG } from 'pngjs';
import { memberToken, newSubject, subjectPath } from './api.mjs';
import { ADMIN } from './console.mjs';
import { ORIGIN, WAIT_MS } from './environment.mjs';

/** The time on the pages; every imported comment is older. */
export const NOW = Date.UTC(2025, 0, 20, 12, 0, 30);
/** The type of a subject decides its mode. */
export const TYPES = { tree: 'article', two_level: 'video', building: 'topic', flat: 'post' };

const OWNER_ID = '7001';
const FEATURED_ID = 'long';
const POLL_MS = 50;

const readLines = () =>
  readFileSync(new URL('../screenshots/threads.jsonl', import.meta.url), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** A call of the origin itself, which no cache answers. */
async function callOrigin(method, path, body, token = ADMIN()) {
  const isJson = body?.constructor === Object;
  const headers = {
    Authorization: `Bearer ${token}`,
    ...(isJson && { 'Content-Type': 'application/json' }),
  };
  const answer = await fetch(`${ORIGIN}/v1/${path}`, {
    method,
    headers,
    body: isJson ? JSON.stringify(body) : body,
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text;
}

async function importLines(lines) {
  const text = lines.map((line) => JSON.stringify(line)).join('\n');
  const body = new Blob([text], { type: 'application/x-ndjson' });
  const answer = await callOrigin('POST', 'admin/import?strict=1', body);
  const { imported } = JSON.parse(answer.trim().split('\n').at(-1));
  assert.equal(imported, lines.length, answer);
}

/** A sky over a wall of windows. */
function picture() {
  const [width, height] = [320, 180];
  const png = new PNG({ width, height });
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const isWindow = y >= 100 && (x + 12) % 40 >= 20 && (y - 90) % 40 >= 15;
      const wall = isWindow ? [246, 205, 120] : [124, 74, 58];
      const sky = [150 + (y >> 1), 190 + (y >> 2), 225];
      png.data.set([...(y < 80 ? sky : wall), 255], (y * width + x) * 4);
    }
  }
  return new Blob([PNG.sync.write(png)], { type: 'image/png' });
}

/** Answers a comment with a picture; it has the time of the server, which is later than that of the pages. */
async function answerWithPicture(subject, parentId) {
  const token = memberToken('7006', 'Inês');
  const form = new FormData();
  form.set('alt', 'A house with lit windows');
  form.set('file', picture(), 'house.png');
  const { id } = JSON.parse(await callOrigin('POST', 'media', form, token));
  const content = '我们楼也是六层，这是去年冬天拍的。';
  const body = { content, parent_id: parentId, media: [id] };
  await callOrigin('POST', `subjects/${subjectPath(subject)}/comments`, body, token);
}

/** The list as soon as it is right. */
async function listUntil(subject, isRight) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const list = JSON.parse(await callOrigin('GET', `subjects/${subjectPath(subject)}/comments`));
    if (isRight(list)) return list;
    assert.ok(Date.now() < deadline, `${subject}: ${JSON.stringify(list).slice(0, 2_000)}`);
    await sleep(POLL_MS);
  }
}

/** A new subject with the comments of this mode. */
export async function makeThread(mode) {
  const type = TYPES[mode];
  const subject = newSubject(type);
  const lines = readLines().filter((line) => line.subject.startsWith(`${type}:`));
  await importLines(lines.map((line) => ({ ...line, subject: subject.replace('/', ':') })));
  await callOrigin('PUT', `admin/subjects/${subjectPath(subject)}`, { owner_id: OWNER_ID });
  const count = lines.filter(({ deleted }) => !deleted).length;
  const isWhole = ({ subject: { comments, owner_id } }) =>
    comments === count && owner_id === OWNER_ID;
  const { data } = await listUntil(subject, isWhole);
  const marked = lines.find(({ id }) => id === FEATURED_ID);
  if (!marked) return subject;
  const root = data.find(({ created_at }) => created_at === marked.created_at);
  await callOrigin('POST', `admin/comments/${root.id}/decision`, { action: 'feature' });
  await answerWithPicture(subject, root.id);
  await listUntil(subject, (list) => {
    const shown = list.data.find(({ id }) => id === root.id);
    return (
      shown.flags.includes('featured') && shown.top_replies.some(({ media }) => media.length > 0)
    );
  });
  return subject;
}
