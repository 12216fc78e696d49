// A KV namespace and a cache that hold nothing and take everything.
export default {
  async fetch(request) {
    if (request.method === "PUT") {
      await request.arrayBuffer();
      return new Response(null, { status: 204 });
    }
    // 504 is how the cache's protocol says that it has nothing; KV says 404.
    const isCache = request.url.includes("/.gailou/edge/");
    return new Response(null, { status: isCache ? 504 : 404, headers: { "cf-cache-status": "MISS" } });
  },
};
