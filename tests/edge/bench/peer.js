// The edge's work for a page that is in its memory, in the Cache API or in KV, written in JavaScript:
// it reads the same headers, calls the same functions of the platform, checks the page against the
// change feed, and sends the same bytes. It does not handle failures, as the edge does.
const KEPT = 4_096;
const CURRENT_MS = 2_000;
const FEED = 'http://origin.invalid/v1/edge/changes';

let young = new Map();
let old = new Map();
let count = 0;
const feed = { rows: new Map(), since: 0, asOf: 0, generation: 0 };

export default {
  async fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url);
    const key = canonical(pathname, searchParams);
    const noCache = /(^|,)\s*no-cache\s*(,|$)/i.test(request.headers.get('cache-control') ?? '');
    if (Date.now() - feed.asOf > CURRENT_MS) {
      if (feed.asOf === 0) await readFeed();
      else context.waitUntil(readFeed());
    }
    let page = recall(key);
    if (request.method !== 'GET' || noCache || !page || !isFresh(page) || !passes(page)) {
      page = await load(key, env, context);
      remember(key, page);
    }
    const sent = request.headers.get('x-request-id');
    const id =
      sent && /^[\w-]{1,64}$/.test(sent) ? sent : `0000000000000000-${(count++).toString(16)}`;
    const known = (request.headers.get('if-none-match') ?? '')
      .split(',')
      .some((tag) => tag.trim() === page.etag);
    const response = new Response(known ? null : page.body, {
      status: known ? 304 : 200,
      headers: page.headers,
    });
    response.headers.set('x-request-id', id);
    response.headers.set('age', String(Math.floor((Date.now() - page.fetchedMs) / 1000)));
    return response;
  },
};

function canonical(path, params) {
  const kept = [];
  for (const [name, usual] of [
    ['sort', 'hot'],
    ['limit', '20'],
    ['cursor', ''],
  ]) {
    const value = params.get(name);
    if (value !== null && value !== usual) kept.push(`${name}=${encodeURIComponent(value)}`);
  }
  const segments = path.split('/').map((s) => encodeURIComponent(decodeURIComponent(s)));
  return segments.join('/') + (kept.length ? `?${kept.join('&')}` : '');
}

/** The cache in memory has two generations, as the edge's has. */
function recall(key) {
  const page = young.get(key) ?? old.get(key);
  if (page && !young.has(key)) remember(key, page);
  return page;
}

function remember(key, page) {
  if (young.size >= KEPT / 2) [old, young] = [young, new Map()];
  young.set(key, page);
}

const isFresh = (page) => Date.now() - page.fetchedMs < page.freshMs;

function passes(page) {
  if (page.checked === feed.generation) return true;
  if (page.madeMs < feed.since || page.shows.some(([id, version]) => feed.rows.get(id) > version))
    return false;
  page.checked = feed.generation;
  return true;
}

async function readFeed() {
  const asked = Date.now();
  const { since, rows } = await (await fetch(FEED)).json();
  if (feed.asOf === 0)
    Object.assign(feed, { since, generation: 1, rows: new Map(rows.map(([id, v]) => [+id, +v])) });
  feed.asOf = asked;
}

async function load(key, env, context) {
  const name = `http://origin.invalid/.gailou/edge/1${key}`;
  const cached = await caches.default.match(name);
  let page = cached && parse(await cached.arrayBuffer());
  if (page && isFresh(page) && passes(page)) return page;
  if (page?.hot) {
    const value = await env.PAGES.get(`page:${key}`, { type: 'arrayBuffer', cacheTtl: 30 });
    page = value && parse(value);
    if (page && isFresh(page) && passes(page)) {
      const headers = {
        'cache-control': 'public, max-age=90000',
        'content-type': 'application/octet-stream',
      };
      context.waitUntil(caches.default.put(name, new Response(value, { headers })));
      return page;
    }
  }
  const response = await fetch(`http://origin.invalid${key}`);
  const about = response.headers;
  const head = {
    etag: about.get('etag'),
    fetched_ms: Date.now(),
    made_ms: Number(about.get('x-gailou-made')),
    freshness: { fresh: 86_400, hot: 0 },
    shows: about.get('x-gailou-shows'),
    headers: [['content-type', about.get('content-type')]],
  };
  return made(head, new Uint8Array(await response.arrayBuffer()));
}

const decoder = new TextDecoder();

function parse(buffer) {
  const bytes = new Uint8Array(buffer);
  const end = bytes.indexOf(10);
  return made(JSON.parse(decoder.decode(bytes.subarray(0, end))), bytes.subarray(end + 1));
}

function made(head, body) {
  const common = {
    etag: head.etag,
    'cache-control': 'public, no-cache',
    vary: 'accept-encoding',
    'access-control-allow-origin': '*',
    'access-control-expose-headers':
      'ETag, Age, Retry-After, Warning, X-Request-Id, X-Gailou-Stale, RateLimit, RateLimit-Policy',
  };
  return {
    body,
    etag: head.etag,
    fetchedMs: head.fetched_ms,
    madeMs: head.made_ms,
    freshMs: Math.max(head.freshness.fresh, head.freshness.hot) * 1_000,
    hot: head.freshness.hot > 0,
    shows: entries(head.shows),
    headers: new Headers([...head.headers, ...Object.entries(common)]),
  };
}

/** Decodes X-Gailou-Shows: two numbers for each subject and each comment, with seven bits in each byte. */
function entries(text) {
  const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const numbers = [];
  let number = 0;
  let scale = 1;
  for (let at = 1; at < bytes.length; at += 1) {
    const byte = bytes.charCodeAt(at);
    number += (byte & 127) * scale;
    scale *= 128;
    if (byte < 128) {
      numbers.push(number);
      [number, scale] = [0, 1];
    }
  }
  const found = [];
  const [subjects, ...pairs] = numbers;
  let id = 0;
  for (let at = 0; at < pairs.length; at += 2) {
    // Of subjects and of comments each id is what it is above the one before.
    id = at === 2 * subjects ? pairs[at] : id + pairs[at];
    found.push([id, pairs[at + 1]]);
  }
  return found;
}
