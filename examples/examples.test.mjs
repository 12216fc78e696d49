// The examples against a real server: it accepts their tokens and shows the member of the token.
// E2E_GAILOU names the origin's program; without it most of the tests are skipped.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { memberToken, memberTokenByKey, publicKeyText } from './node/member-token.mjs';

const GAILOU = process.env.E2E_GAILOU;
const skip = GAILOU ? false : 'E2E_GAILOU is not set';
const run = promisify(execFile);
const file = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Starts a program and returns the first address that it prints. */
async function start(t, command, args, env) {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(
    () =>
      new Promise((done) => {
        if (child.exitCode !== null) return done();
        child.on('exit', done);
        child.kill();
      }),
  );
  let output = '';
  return new Promise((ready, failed) => {
    const read = (chunk) => {
      output += chunk;
      const found = output.match(/http:\/\/127\.0\.0\.1:\d+/);
      if (found) ready(found[0]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('exit', (code) => failed(new Error(`${command} ended (${code}):\n${output}`)));
  });
}

async function startGailou(t, env) {
  const dir = await mkdtemp(join(tmpdir(), 'gailou-examples-'));
  const started = start(t, GAILOU, ['--bind', '127.0.0.1:0', '--data', join(dir, 'data')], env);
  // After the program has ended: until then it writes there.
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }));
  return started;
}

/** Posts with a token and returns the comment. */
async function post(url, token) {
  const response = await fetch(`${url}/v1/subjects/article/example/comments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'Hello from an example' }),
  });
  const comment = await response.json();
  assert.equal(response.status, 201, JSON.stringify(comment));
  return comment;
}

const author = ({ id, name, level }) => ({ id, name, level });

test('tokens signed with a shared secret are accepted, from Node and from Python; a forged one is 401', {
  skip,
}, async (t) => {
  const GAILOU_TOKEN_SECRET = randomBytes(32).toString('hex');
  const url = await startGailou(t, { GAILOU_TOKEN_SECRET });
  const env = { ...process.env, GAILOU_TOKEN_SECRET };

  const ann = await post(url, memberToken({ id: 7, name: 'Ann', level: 3 }, GAILOU_TOKEN_SECRET));
  assert.deepEqual(author(ann.author), { id: '7', name: 'Ann', level: 3 });

  const node = await run('node', [file('node/member-token.mjs'), '8', 'Bob'], { env });
  assert.equal((await post(url, node.stdout.trim())).author.id, '8');

  const python = await run('python3', [file('python/member_token.py'), '9', 'Cleo 阿'], { env });
  assert.deepEqual(author((await post(url, python.stdout.trim())).author), {
    id: '9',
    name: 'Cleo 阿',
    level: 0,
  });

  const forged = memberToken({ id: 7, name: 'Ann' }, 'another secret of 32 bytes or more');
  const refused = await fetch(`${url}/v1/me/overlay?ids=${ann.id}`, {
    headers: { authorization: `Bearer ${forged}` },
  });
  assert.equal(refused.status, 401);
});

test('token signed with an Ed25519 key is accepted', { skip }, async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const url = await startGailou(t, { GAILOU_AUTH__TOKEN_PUBLIC_KEY: publicKeyText(publicKey) });
  const dora = await post(url, memberTokenByKey({ id: 10, name: 'Dora' }, privateKey));
  assert.deepEqual(author(dora.author), { id: '10', name: 'Dora', level: 0 });
});

test('example site serves its page and a token that is accepted', { skip }, async (t) => {
  const GAILOU_TOKEN_SECRET = randomBytes(32).toString('hex');
  const url = await startGailou(t, { GAILOU_TOKEN_SECRET });
  const site = await start(t, 'node', [file('node/site.mjs')], {
    GAILOU_TOKEN_SECRET,
    COMMENTS: url,
    PORT: '0',
  });
  assert.match(await (await fetch(site)).text(), /<gailou-comments subject="article\/members">/);
  const token = await (await fetch(`${site}/comment-token`)).text();
  assert.equal((await post(url, token)).author.name, 'Ann');
});

test('example page names a script and a subject', async () => {
  const page = await readFile(file('page/index.html'), 'utf8');
  assert.match(
    page,
    /<gailou-comments subject="article\/example" style="[^"]+"><\/gailou-comments>/,
  );
  assert.match(page, /<script src="http:\/\/127\.0\.0\.1:8080\/gailou\.js" async><\/script>/);
});
