// The colo's cache and the KV store. What they hold goes by the name of the subject: `cache-…` is in
// the cache and fresh, `kv-…` is in the cache too old, and fresh in KV; nothing else is anywhere.
import { body, etag, shows } from "./page.js";

const FRESHNESS = { fresh: 1, revalidate: 1, on_error: 86_400, hot: 60 };

/** The page as the edge stores it: a line about it, then its bytes. */
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
    headers: [["content-type", "application/json"]],
  };
  return `${JSON.stringify(head)}\n${body}`;
}

export default {
  async fetch(request) {
    if (request.method === "PUT") {
      await request.arrayBuffer();
      return new Response(null, { status: 204 });
    }
    const url = decodeURIComponent(request.url);
    const isCache = url.includes("/.gailou/edge/");
    const has = url.includes("/article/cache-") ? isCache : url.includes("/article/kv-");
    if (has) {
      const value = stored(isCache && url.includes("/article/kv-") ? 90_000 : 1_000);
      const headers = isCache ? { "cf-cache-status": "HIT", "cache-control": "public, max-age=90000" } : {};
      return new Response(value, { headers });
    }
    // 504 is how the cache's protocol says that it has nothing; KV says 404.
    return new Response(null, { status: isCache ? 504 : 404, headers: { "cf-cache-status": "MISS" } });
  },
};
