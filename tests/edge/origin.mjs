// A scripted origin: pages with a version, a change feed, and the failures and wrong answers of an
// origin. It records every request. It has no comments, only their ids.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const FRESHNESS = 'public, max-age=1, stale-while-revalidate=2, stale-if-error=86400';
const FEED = '/v1/edge/changes';
const MINUTE = 60_000;

/** The subject of every comment, as the header X-Gailou-Shows and the change feed name it. */
const SUBJECT = 5n;

/** Encodes the header X-Gailou-Shows: `[[id, version], …]`, sorted by id. */
export function shows(entries) {
  const bytes = [2];
  const put = (number) => {
    for (; number >= 0x80n; number >>= 7n) bytes.push(Number(number & 0x7fn) | 0x80);
    bytes.push(Number(number));
  };
  put(entries.length ? 1n : 0n);
  if (entries.length) {
    put(SUBJECT);
    put(BigInt(Math.min(...entries.map(([, version]) => Number(version)))));
  }
  let before = 0n;
  for (const [id, version] of entries) {
    put(BigInt(id) - before);
    put(BigInt(version));
    before = BigInt(id);
  }
  return Buffer.from(bytes).toString('base64url');
}

export async function startOrigin() {
  const held = [];
  const origin = {
    /**
     * `up`, `slow` (answers after `slowMs`), `held` (answers after `release`), `failing` (502 of a proxy),
     * `gone` (drops connections), `truncated` (half a page), `huge` (200 MiB), `nonsense` (an invalid
     * X-Gailou-Shows) or `silent` (no X-Gailou-Shows).
     */
    mode: 'up',
    slowMs: 0,
    version: 1,
    /** The header CDN-Cache-Control of pages. */
    cdn: FRESHNESS,
    /** How many seconds the pages of popular subjects stay fresh, or null. */
    hotFor: null,
    /** The comments on each page: `[[id, version], …]`. */
    entries: [],
    /** The rows of the change feed, `{ id, version, at }`, and the length of its tail. */
    changes: [],
    tailMs: 2 * MINUTE,
    /** The version before which the subject is void, or null. */
    voidBefore: null,
    /** Since when the database of the first slot is away, or null. */
    awaySince: null,
    /** `up` or `gone`, independent of `mode`. */
    feed: 'up',
    words: 1,
    requests: [],
    /** Requests for this path since the last call of `forget`. */
    seen: (path) => origin.requests.filter((r) => r.url.split('?')[0] === path),
    /** All requests except those for the feed. */
    asked: () => origin.requests.filter((r) => !r.url.startsWith(FEED)),
    /** The requests for the feed. */
    fed: () => origin.requests.filter((r) => r.url.startsWith(FEED)),
    forget: () => (origin.requests = []),
    /** Resets everything but the rows of the feed: the edge has read them. */
    reset: () => {
      Object.assign(origin, {
        mode: 'up',
        feed: 'up',
        cdn: FRESHNESS,
        hotFor: null,
        entries: [],
        tailMs: 2 * MINUTE,
        voidBefore: null,
        awaySince: null,
      });
      origin.forget();
    },
    /** Answers what `held` holds. */
    release: () => {
      origin.mode = 'up';
      for (const answerNow of held.splice(0)) answerNow();
    },
    /** Adds a takedown to the feed. */
    takeDown: (id, version) => origin.changes.push({ id, version, at: Date.now() }),
  };
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url, headers } = request;
    origin.requests.push({
      method,
      url,
      headers,
      body: Buffer.concat(chunks).toString(),
      at: Date.now(),
    });
    const isFeed = url.startsWith(FEED);
    if (origin.mode === 'gone' || (isFeed && origin.feed === 'gone'))
      return request.socket.destroy();
    if (isFeed) return answerFeed(origin, url, response);
    if (origin.mode === 'slow') await new Promise((done) => setTimeout(done, origin.slowMs));
    if (origin.mode === 'held') await new Promise((done) => held.push(done));
    if (origin.mode === 'failing') {
      return response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    }
    answer(origin, method, url, headers, response);
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  origin.url = `http://127.0.0.1:${server.address().port}`;
  origin.stop = () => {
    server.closeAllConnections();
    return new Promise((stopped) => server.close(stopped));
  };
  return origin;
}

function answerFeed(origin, url, response) {
  const latest = Date.now();
  const now = origin.awaySince ?? latest;
  const reach = url.includes('day=1') ? 25 * 60 * MINUTE : origin.tailMs;
  const since = now - reach;
  const last = new Map();
  for (const { id, version } of origin.changes.filter((change) => change.at >= since)) {
    last.set(String(id), String(Math.max(version, Number(last.get(String(id)) ?? 0))));
  }
  const subjects = origin.voidBefore ? [[String(SUBJECT), String(origin.voidBefore)]] : [];
  const rows = [...last];
  const { words } = origin;
  const document = { v: 2, now, since, behind: latest - now, words, rows, subjects };
  if (origin.awaySince)
    document.ahead = { slots: [[1, 1023]], now: latest, since: latest - reach, behind: 0 };
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  response.writeHead(200, headers).end(JSON.stringify(document));
}

function answer(origin, method, url, headers, response) {
  const json = (status, body, more = {}) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...more })
      .end(JSON.stringify(body));
  if (method === 'OPTIONS') {
    return response
      .writeHead(204, { 'access-control-allow-origin': headers.origin ?? 'null' })
      .end();
  }
  if (url.includes('missing')) {
    return json(404, { code: 'comment_not_found' }, { 'content-type': 'application/problem+json' });
  }
  if (url.startsWith('/v1/me/'))
    return json(200, { data: {} }, { 'cache-control': 'private, no-store' });
  if (method !== 'GET') return json(201, { id: '5' });
  if (url.includes('/events')) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write('event: counts\nid: 1\ndata: {}\n\n');
    const timer = setInterval(() => response.write(': alive\n\n'), 200);
    return response.on('close', () => clearInterval(timer));
  }
  const ids = origin.entries.map(([id]) => id);
  const body = JSON.stringify({ url, version: origin.version, ids });
  const etag = `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"`;
  const common = {
    etag,
    'cache-control': 'public, no-cache',
    'cdn-cache-control': origin.cdn,
    ...(origin.hotFor && { 'x-gailou-hot-for': String(origin.hotFor) }),
    'x-gailou-made': String(Date.now()),
    'x-gailou-version': String(origin.version),
    ...(origin.mode !== 'silent' && {
      'x-gailou-shows': origin.mode === 'nonsense' ? 'no!' : shows(origin.entries),
    }),
  };
  if (headers['if-none-match'] === etag) return response.writeHead(304, common).end();
  const whole = { 'content-type': 'application/json', ...common };
  if (origin.mode === 'truncated') {
    response.writeHead(200, { ...whole, 'content-length': String(body.length) });
    response.write(body.slice(0, body.length / 2));
    // The first half is sent before the connection breaks.
    return setTimeout(() => response.destroy(), 50);
  }
  if (origin.mode === 'huge') {
    response.writeHead(200, whole);
    const chunk = Buffer.alloc(1 << 20, 'x');
    let left = 200;
    const more = () => {
      while (left > 0 && !response.destroyed) {
        left -= 1;
        if (!response.write(chunk)) return response.once('drain', more);
      }
      return response.end();
    };
    return more();
  }
  response.writeHead(200, whole).end(body);
}
