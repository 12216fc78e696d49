// Starts `wrangler dev` with its own state and its own process group, and stops it.

import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const BIN = join(ROOT, 'node_modules/.bin');
export const ENV = {
  ...process.env,
  // node_modules/.bin has the pinned tools, and a Node when the system's is too old for wrangler.
  PATH: `${BIN}${delimiter}${process.env.PATH}`,
  CI: '1',
  EDGE_BUILT: '1',
  WRANGLER_SEND_METRICS: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
};

export async function newState() {
  const dir = await mkdtemp(join(tmpdir(), 'gailou-edge-'));
  // A program that still ends may write there meanwhile.
  return { dir, remove: () => rm(dir, { recursive: true, force: true, maxRetries: 10 }) };
}

/** Puts `value` into the local KV of a Worker with this state. */
export async function putKv(state, key, value) {
  const args = [
    'kv',
    'key',
    'put',
    '--binding',
    'PAGES',
    '--local',
    '--persist-to',
    state.dir,
    key,
    value,
  ];
  await promisify(execFile)(join(BIN, 'wrangler'), args, { cwd: ROOT, env: ENV });
}

/** A port on which no program listens. */
export async function freePort() {
  const server = createServer();
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Starts the Worker with these variables, as the top level of wrangler.toml or an environment defines it. */
export async function startWorker(state, vars, { environment, port = 0 } = {}) {
  const args = [
    'dev',
    '--ip',
    '127.0.0.1',
    '--port',
    String(port),
    '--inspector-port',
    '0',
    '--persist-to',
    state.dir,
  ];
  if (environment) args.push('--env', environment);
  for (const [name, value] of Object.entries(vars)) args.push('--var', `${name}:${value}`);
  const child = spawn(join(BIN, 'wrangler'), args, {
    cwd: ROOT,
    env: ENV,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const group = (signal) => {
    try {
      process.kill(-child.pid, signal);
    } catch {
      // It has ended.
    }
  };
  // Also when the tests end before they stop it.
  process.on('exit', () => group('SIGKILL'));
  let output = '';
  const url = await new Promise((ready, failed) => {
    const timer = setTimeout(
      () => failed(new Error(`wrangler is not ready after 60 s:\n${output}`)),
      60_000,
    );
    const read = (chunk) => {
      output = (output + chunk).slice(-20_000);
      const found = output.match(/Ready on (http:\/\/\S+)/);
      if (!found) return;
      clearTimeout(timer);
      ready(found[1]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', (code) => {
      clearTimeout(timer);
      failed(new Error(`wrangler ended (${code}):\n${output}`));
    });
  });
  const ended = new Promise((done) => child.on('exit', done));
  return {
    url,
    log: () => output,
    stop: async () => {
      group('SIGTERM');
      await Promise.race([ended, new Promise((done) => setTimeout(done, 3_000))]);
      group('SIGKILL');
    },
  };
}
