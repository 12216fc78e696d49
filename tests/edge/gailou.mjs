// Starts the real origin: the program that E2E_GAILOU names, on a free port, with its own directory.

import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { signatureHeaders } from './signature.mjs';

const GAILOU = process.env.E2E_GAILOU;

/** The reason why the tests that need the origin are skipped, or false. */
export const skip = GAILOU ? false : 'E2E_GAILOU is not set';
export const SECRETS = {
  TOKEN_SECRET: '0123456789abcdef0123456789abcdef',
  EDGE_SECRET: "the edge's own secret of 32 bytes",
};

/** Starts an origin that answers only requests that the edge has signed. `more` are further variables. */
export function startGailou(dir, more = {}) {
  const env = {
    ...process.env,
    GAILOU_TOKEN_SECRET: SECRETS.TOKEN_SECRET,
    GAILOU_EDGE_SECRET: SECRETS.EDGE_SECRET,
    GAILOU_EDGE__REQUIRE_EDGE: 'true',
    ...more,
  };
  const bind = more.GAILOU_BIND ?? '127.0.0.1:0';
  return startServer(
    GAILOU,
    ['--bind', bind, '--data', more.GAILOU_DATA ?? join(dir, 'data')],
    env,
  );
}

/** Starts what becomes a server, and waits until it prints this: its address. */
export async function startServer(
  command,
  parameters,
  env,
  listening = /gailou listening on (http:\S+)/,
) {
  const child = spawn(command, parameters, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((done) => child.on('exit', done));
  let output = '';
  const url = await new Promise((ready, failed) => {
    const read = (chunk) => {
      output = (output + chunk).slice(-20_000);
      const found = output.match(listening);
      if (found) ready(found[1]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', (code) => failed(new Error(`the origin ended (${code}):\n${output}`)));
  });
  const stop = () => {
    child.kill();
    return ended;
  };
  return { url, stop, ended, pid: child.pid, log: () => output };
}

/** Sends a signed request of this client to the origin, past the edge; returns the text of the answer. */
export async function ask(gailou, path, client) {
  const signed = signatureHeaders(SECRETS.EDGE_SECRET, 'edge to origin', {
    method: 'GET',
    path,
    client,
  });
  const headers = { ...signed, ...(client && { 'x-gailou-client': client }) };
  const response = await fetch(gailou.url + path, { headers });
  return response.text();
}

/** A token as the host site signs it. */
export function token(sub, name, role = 'member') {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub, name, role, aud: 'gailou', exp })}`;
  return `${signed}.${createHmac('sha256', SECRETS.TOKEN_SECRET).update(signed).digest('base64url')}`;
}

/** Calls `look` until it returns something, for at most 10 s. */
export async function eventually(look) {
  for (const until = Date.now() + 10_000; ; await sleep(100)) {
    const found = await look();
    if (found) return found;
    if (Date.now() > until) throw new Error('nothing in 10 s');
  }
}
