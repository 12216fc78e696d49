// Starts workerd without wrangler's proxies, for measurements.

import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { freePort, ROOT } from './worker.mjs';

const SYSTEM = { x64: '64', arm64: 'arm64' }[arch()];
const WORKERD = join(ROOT, `node_modules/@cloudflare/workerd-${platform()}-${SYSTEM}/bin/workerd`);

/** Serves the constant `name` of a configuration, with each socket at a free port. */
export async function startWorkerd(config, name, sockets) {
  const urls = {};
  const args = ['serve'];
  for (const socket of sockets) {
    const port = await freePort();
    urls[socket] = `http://127.0.0.1:${port}`;
    args.push(`--socket-addr=${socket}=127.0.0.1:${port}`);
  }
  const child = spawn(WORKERD, [...args, config, name], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = new Promise((done) => child.on('exit', done));
  const stop = () => {
    child.kill('SIGKILL');
    return ended;
  };
  return { urls, cpuMs: () => cpuMs(child.pid), stop };
}

/** The processor time of a process, in milliseconds, in user and system mode. */
function cpuMs(pid) {
  let ns = 0n;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      ns += BigInt(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // The thread has ended.
    }
  }
  return Number(ns) / 1e6;
}

/** Repeats the request until it is answered, for at most 20 s. */
export async function answered(url) {
  for (const until = Date.now() + 20_000; ; await sleep(2)) {
    try {
      const response = await fetch(url);
      return { status: response.status, headers: response.headers, body: await response.text() };
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}

export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
