// An origin that answers every address with one page, which stays fresh for a day, and a change feed
// that does not change.
import { body, etag, shows } from './page.js';

export default {
  fetch(request) {
    if (request.url.includes('/v1/edge/changes')) {
      const now = Date.now();
      return Response.json({
        v: 2,
        now,
        since: now - 90_000_000,
        behind: 0,
        words: 0,
        rows: [['7', '1']],
        subjects: [],
      });
    }
    return new Response(body, {
      headers: {
        'content-type': 'application/json',
        'cache-control': 'public, no-cache',
        'cdn-cache-control': 'public, max-age=86400',
        'x-gailou-shows': shows,
        'x-gailou-made': String(Date.now()),
        'x-gailou-version': '9',
        etag,
      },
    });
  },
};
