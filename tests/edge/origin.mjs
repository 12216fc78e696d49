// A scripted origin: pages with a version that grows, and the ways in which an origin fails.
// It remembers every request it got. It knows nothing of comments.

import { createHash } from "node:crypto";
import { createServer } from "node:http";

const FRESHNESS = "public, max-age=1, stale-while-revalidate=2, stale-if-error=86400";

export async function startOrigin() {
  const origin = {
    /** `up`, `slow` (answers after `slowMs`), `failing` (502 of a proxy) or `gone` (drops connections). */
    mode: "up",
    slowMs: 0,
    version: 1,
    requests: [],
    /** Requests for this path since the last call of `forget`. */
    seen: (path) => origin.requests.filter((r) => r.url.split("?")[0] === path),
    forget: () => (origin.requests = []),
  };
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url, headers } = request;
    origin.requests.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    if (origin.mode === "gone") return request.socket.destroy();
    if (origin.mode === "slow") await new Promise((done) => setTimeout(done, origin.slowMs));
    if (origin.mode === "failing") {
      return response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad gateway</h1>");
    }
    answer(origin, method, url, headers, response);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  origin.url = `http://127.0.0.1:${server.address().port}`;
  origin.stop = () => {
    server.closeAllConnections();
    return new Promise((stopped) => server.close(stopped));
  };
  return origin;
}

function answer(origin, method, url, headers, response) {
  const json = (status, body, more = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...more }).end(JSON.stringify(body));
  if (method === "OPTIONS") {
    return response.writeHead(204, { "access-control-allow-origin": headers.origin ?? "null" }).end();
  }
  if (url.includes("missing")) {
    return json(404, { code: "comment_not_found" }, { "content-type": "application/problem+json" });
  }
  if (url.startsWith("/v1/me/")) return json(200, { data: {} }, { "cache-control": "private, no-store" });
  if (method !== "GET") return json(201, { id: "5" });
  if (url.includes("/events")) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write("event: counts\nid: 1\ndata: {}\n\n");
    const timer = setInterval(() => response.write(": alive\n\n"), 200);
    return response.on("close", () => clearInterval(timer));
  }
  const body = JSON.stringify({ url, version: origin.version });
  const etag = `"${createHash("sha256").update(body).digest("hex").slice(0, 16)}"`;
  const common = { etag, "cache-control": "public, no-cache", "cdn-cache-control": FRESHNESS };
  if (headers["if-none-match"] === etag) return response.writeHead(304, common).end();
  response.writeHead(200, { "content-type": "application/json", ...common }).end(body);
}
