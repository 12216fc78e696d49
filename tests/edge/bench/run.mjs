// How fast the edge serves a hot page, against a JavaScript worker that does the same.
//
//   node tests/edge/bench/run.mjs [seconds per round] [rounds]
//
// Both run in one workerd and are driven in turns by the same client (wrk, else a small one here),
// so what other programs do to the machine hits both. workerd serves without wrangler's proxies.
// The figures of one machine mean little; the ratio does.

import { execFileSync, spawn } from "node:child_process";
import { Agent, get } from "node:http";
import { createServer } from "node:net";
import { arch, platform } from "node:os";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";

const SECONDS = Number(process.argv[2] ?? 3);
const ROUNDS = Number(process.argv[3] ?? 5);
const CONNECTIONS = 32;
const PATH = "/v1/subjects/article/7/comments?sort=hot&limit=20";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const system = { x64: "64", arm64: "arm64" }[arch()];
const WORKERD = here(`../../../node_modules/@cloudflare/workerd-${platform()}-${system}/bin/workerd`);

async function freePort() {
  const server = createServer();
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

async function fetched(url) {
  const response = await fetch(url);
  const headers = Object.fromEntries(response.headers);
  for (const own of ["age", "date", "x-request-id"]) delete headers[own];
  return { status: response.status, headers, body: await response.text() };
}

async function ready(url) {
  for (const until = Date.now() + 20_000; ; ) {
    try {
      return await fetched(url);
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((later) => setTimeout(later, 100));
    }
  }
}

const hasWrk = (() => {
  try {
    execFileSync("wrk", ["--version"], { stdio: "ignore" });
    return true;
  } catch (error) {
    return error.code !== "ENOENT";
  }
})();

/** Answers per second. */
async function drive(url) {
  if (hasWrk) {
    const out = execFileSync("wrk", ["-t1", `-c${CONNECTIONS}`, `-d${SECONDS}s`, url], { encoding: "utf8" });
    if (/Non-2xx|Socket errors/.test(out)) throw new Error(out);
    return Number(out.match(/Requests\/sec:\s+([\d.]+)/)[1]);
  }
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const end = Date.now() + SECONDS * 1000;
  let count = 0;
  const one = () =>
    new Promise((done, failed) => {
      get(url, { agent }, (response) => response.resume().on("end", done)).on("error", failed);
    });
  const loop = async () => {
    for (; Date.now() < end; count += 1) await one();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
  agent.destroy();
  return count / SECONDS;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

const ports = { rust: await freePort(), javascript: await freePort() };
const sockets = Object.entries(ports).map(([name, port]) => `--socket-addr=${name}=127.0.0.1:${port}`);
const workerd = spawn(WORKERD, ["serve", ...sockets, here("config.capnp")], { stdio: ["ignore", "inherit", "inherit"] });
try {
  const urls = { rust: `http://127.0.0.1:${ports.rust}${PATH}`, javascript: `http://127.0.0.1:${ports.javascript}${PATH}` };
  const [rust, javascript] = await Promise.all([ready(urls.rust), ready(urls.javascript)]);
  assert.equal(rust.status, 200);
  assert.deepEqual(rust, javascript, "both must send the same");
  const rates = { rust: [], javascript: [] };
  for (const name of ["rust", "javascript"]) await drive(urls[name]);
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = round % 2 ? ["javascript", "rust"] : ["rust", "javascript"];
    for (const name of order) rates[name].push(await drive(urls[name]));
  }
  const [ours, theirs] = [median(rates.rust), median(rates.javascript)];
  const perSecond = (rate) => `${Math.round(rate)}/s`;
  console.log(`body ${rust.body.length} characters, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s`);
  console.log(`edge ${perSecond(ours)}, JavaScript ${perSecond(theirs)}`);
  console.log(`edge hot page (memory): ${(ours / theirs).toFixed(2)} of JavaScript`);
} finally {
  workerd.kill();
}
