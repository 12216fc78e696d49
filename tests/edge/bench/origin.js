// An origin with one page of about 10 kB for every address, fresh for the length of a benchmark.
const comment = { content: "盖楼 ".repeat(28), html: `<p>${"盖楼 ".repeat(28)}</p>`, likes: 10, replies: 4 };
const body = JSON.stringify({ data: Array.from({ length: 20 }, (_, id) => ({ id: String(id), ...comment })) });

export default {
  fetch() {
    return new Response(body, {
      headers: {
        "content-type": "application/json",
        "cache-control": "public, no-cache",
        "cdn-cache-control": "public, max-age=86400",
        etag: '"0123456789abcdef"',
      },
    });
  },
};
