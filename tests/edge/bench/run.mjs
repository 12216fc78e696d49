// Measures a request for a hot page at the edge and at a JavaScript worker with the same work: from
// the isolate's memory, from the Cache API and from KV.
//
//   node tests/edge/bench/run.mjs [seconds per round] [rounds]
//
// Both run in one workerd, and the same client (wrk, or a small one in this file) drives them in turns,
// so that other load on the machine affects both. The result is processor time per request of all
// threads of workerd, with the stubs of cache and KV. Compare the ratio, not the times of one machine.
// E2E_RATIO=0.85 makes a smaller ratio from memory a failure.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { answered, median, startWorkerd } from '../workerd.mjs';

const SECONDS = Number(process.argv[2] ?? 3);
const ROUNDS = Number(process.argv[3] ?? 5);
const CONNECTIONS = 16;
/** More than an isolate's memory holds, so that it has evicted a page before the next request for it. */
const KEYS = 10_000;
/** For each level the beginning of its addresses, and their number. */
const LEVELS = { memory: ['seven', 1], 'Cache API': ['cache-', KEYS], KV: ['kv-', KEYS] };

const path = (level, n) => {
  const [name, keys] = LEVELS[level];
  return `/v1/subjects/article/${name}${keys > 1 ? n % keys : ''}/comments?sort=hot&limit=20`;
};

const hasWrk = (() => {
  try {
    execFileSync('wrk', ['--version'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    return error.code !== 'ENOENT';
  }
})();

/** Drives a worker for one round; returns the number of its answers. */
async function drive(url, level, scripts) {
  return hasWrk ? driveByWrk(url, level, scripts) : driveByNode(url, level);
}

/** The script for a level with many addresses: wrk requests one after the other. */
function script(level) {
  const [before, after] = path(level, 0).split('0/comments');
  const next = `wrk.format("GET", "${before}" .. (n % ${KEYS}) .. "/comments${after}")`;
  return `local n = 0\nrequest = function()\n  n = n + 1\n  return ${next}\nend\n`;
}

async function driveByWrk(url, level, scripts) {
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${SECONDS}s`];
  if (LEVELS[level][1] > 1) {
    const file = join(scripts, `${LEVELS[level][0]}.lua`);
    await writeFile(file, script(level));
    args.push('-s', file);
  }
  const wrk = spawn('wrk', [...args, url + path(level, 0)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  for await (const chunk of wrk.stdout) out += chunk;
  if (/Non-2xx|Socket errors/.test(out)) throw new Error(out);
  return Number(out.match(/(\d+) requests in/)[1]);
}

async function driveByNode(url, level) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const end = Date.now() + SECONDS * 1000;
  let count = 0;
  const one = (n) =>
    new Promise((done, failed) => {
      get(url + path(level, n), { agent }, (response) => response.resume().on('end', done)).on(
        'error',
        failed,
      );
    });
  const loop = async () => {
    while (Date.now() < end) {
      count += 1;
      await one(count);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
  agent.destroy();
  return count;
}

/** An answer without the headers that differ between requests. */
async function page(url, level) {
  const { status, headers, body } = await answered(url + path(level, 0));
  const rest = Object.fromEntries(headers);
  for (const own of ['age', 'date', 'x-request-id']) delete rest[own];
  return { status, headers: rest, body: createHash('sha256').update(body).digest('hex') };
}

const NAMES = ['rust', 'javascript'];
const scripts = await mkdtemp(join(tmpdir(), 'gailou-bench-'));
const workerd = await startWorkerd(
  fileURLToPath(new URL('config.capnp', import.meta.url)),
  'bench',
  NAMES,
);
try {
  let least = 0;
  for (const level of Object.keys(LEVELS)) {
    const [rust, javascript] = await Promise.all(
      NAMES.map((name) => page(workerd.urls[name], level)),
    );
    assert.equal(rust.status, 200);
    assert.deepEqual(rust, javascript, 'both must send the same');
    const rounds = { rust: [], javascript: [] };
    for (const name of NAMES) await drive(workerd.urls[name], level, scripts);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of round % 2 ? NAMES.toReversed() : NAMES) {
        const before = workerd.cpuMs();
        const count = await drive(workerd.urls[name], level, scripts);
        rounds[name].push(((workerd.cpuMs() - before) / count) * 1_000);
      }
    }
    const [ours, theirs] = NAMES.map((name) => median(rounds[name]));
    least ||= theirs / ours;
    console.log(
      JSON.stringify({
        what: `edge: processor time of a hot page, from ${level}`,
        value: ours,
        unit: ' µs',
        peer: 'a JavaScript worker that does the same',
        peer_value: theirs,
      }),
    );
  }
  const goal = Number(process.env.E2E_RATIO ?? 0);
  assert.ok(least >= goal, `${least.toFixed(2)} is below ${goal}`);
} finally {
  await workerd.stop();
  await rm(scripts, { recursive: true, force: true });
}
