// The Cache API and the KV store. The name of the subject decides: `cache-…` is fresh in the cache;
// `kv-…` is stale in the cache and fresh in KV; every other page is in neither.
import { body, etag, shows } from './page.js';

const FRESHNESS = { fresh: 1, revalidate: 1, on_error: 86_400, hot: 60 };

/** The page as the edge stores it: a line of metadata, then its bytes. */
function stored(ageMs) {
  const now = Date.now();
  const head = {
    v: 2,
    fetched_ms: now - ageMs,
    made_ms: now - ageMs,
    version: 9,
    freshness: FRESHNESS,
    etag,
    shows,
    headers: [['content-type', 'application/json']],
  };
  return `${JSON.stringify(head)}\n${body}`;
}

export default {
  async fetch(request) {
    if (request.method === 'PUT') {
      await request.arrayBuffer();
      return new Response(null, { status: 204 });
    }
    const url = decodeURIComponent(request.url);
    const isCache = url.includes('/.gailou/edge/');
    const has = url.includes('/article/cache-') ? isCache : url.includes('/article/kv-');
    if (has) {
      const value = stored(isCache && url.includes('/article/kv-') ? 90_000 : 1_000);
      const headers = isCache
        ? { 'cf-cache-status': 'HIT', 'cache-control': 'public, max-age=90000' }
        : {};
      return new Response(value, { headers });
    }
    // For a missing entry the protocol of the cache answers 504, and KV answers 404.
    return new Response(null, {
      status: isCache ? 504 : 404,
      headers: { 'cf-cache-status': 'MISS' },
    });
  },
};
