// What stands around the program on a server, tried with the programs themselves: nginx and Caddy in front of a real
// gailou, the unit by systemd's own check, the Dockerfile and compose.yaml by their linter and their schema.
// E2E_GAILOU names the origin's program. What a machine lacks is skipped.

import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { freePort } from '../tests/edge/worker.mjs';

const GAILOU = process.env.E2E_GAILOU;
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);
const example = (name) => readFile(join(ROOT, 'examples/deploy', name), 'utf8');

/** The reason to skip a test that needs these programs, or false. */
function missing(...programs) {
  const absent = programs.find((name) => spawnSync('which', [name]).status !== 0);
  return absent ? `${absent} is not installed` : false;
}

/** Replaces a text that must be there. */
function adapt(text, changes) {
  return changes.reduce((adapted, [from, to]) => {
    assert.ok(adapted.includes(from), `the example has ${from}`);
    return adapted.replaceAll(from, to);
  }, text);
}

/** Starts a program that is ended with the test; returns what it has printed so far. */
function start(t, command, args, env) {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill();
    await ended;
  });
  return () => output;
}

/** Calls `look` until it returns something, for at most 20 s. */
async function eventually(look, describe) {
  for (const until = Date.now() + 20_000; ; await sleep(50)) {
    const found = await look().catch(() => null);
    if (found) return found;
    assert.ok(Date.now() < until, `nothing in 20 s: ${describe()}`);
  }
}

/** One request from this address of the machine, on a connection of its own. */
function ask(port, from, { method = 'GET', path, headers = {}, body }) {
  return new Promise((done, failed) => {
    const agent = new Agent({ keepAlive: false });
    const options = { host: '127.0.0.1', port, localAddress: from, method, path, headers, agent };
    const sent = request(options, async (answer) => {
      let text = '';
      for await (const chunk of answer) text += chunk;
      done({ status: answer.statusCode, text });
    });
    sent.on('error', failed);
    sent.end(body);
  });
}

const JSON_BODY = { 'content-type': 'application/json' };

async function makeGuest(port, from, headers = {}) {
  return ask(port, from, {
    method: 'POST',
    path: '/v1/guests',
    headers: { ...JSON_BODY, ...headers },
    body: JSON.stringify({ name: `Reader ${Math.random()}` }),
  });
}

/** The first event of a subject after `act`; an event that waits in a buffer does not come. */
async function firstEvent(port, from, act) {
  const agent = new Agent({ keepAlive: false });
  const path = '/v1/subjects/article/proxied/events?after=0';
  const headers = { accept: 'text/event-stream' };
  const options = { host: '127.0.0.1', port, localAddress: from, agent, path, headers };
  const sent = request(options).end();
  const [answer] = await once(sent, 'response', { signal: AbortSignal.timeout(10_000) });
  assert.equal(answer.statusCode, 200);
  assert.match(answer.headers['content-type'], /^text\/event-stream/);
  let text = '';
  const deadline = setTimeout(() => sent.destroy(new Error(`no event in 10 s: ${text}`)), 10_000);
  await act();
  try {
    for await (const chunk of answer) {
      text += chunk;
      if (/^data: /m.test(text)) return text;
    }
    throw new Error(`the stream has ended: ${text}`);
  } finally {
    clearTimeout(deadline);
    sent.destroy();
  }
}

/** A form with a PNG of 5 MiB: one pixel, and then bytes that no decoder looks at. */
function pictureForm() {
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const picture = Buffer.alloc(5 * 1024 * 1024);
  Buffer.from(pixel, 'base64').copy(picture);
  const head =
    '--form\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n';
  return Buffer.concat([Buffer.from(head), picture, Buffer.from('\r\n--form--\r\n')]);
}

const PROXIES = {
  nginx: {
    skip: missing('nginx'),
    async start(t, dir, port, origin) {
      const site = adapt(await example('nginx.conf'), [
        ['127.0.0.1:8080', `127.0.0.1:${origin}`],
        ['443 ssl http2', `127.0.0.1:${port}`],
        ['ssl_certificate /etc/letsencrypt/live/comments.example/fullchain.pem;', ''],
        ['ssl_certificate_key /etc/letsencrypt/live/comments.example/privkey.pem;', ''],
      ]);
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = paths.map((name) => `${name}_temp_path ${dir}/${name};`).join('\n');
      const http = `http {\naccess_log off;\n${temporary}\n${site}\n}`;
      const file = join(dir, 'nginx.conf');
      // As root it would take another user for its work, whom the directory of the test is closed to.
      const user = process.getuid() === 0 ? 'user root;' : '';
      await writeFile(file, `daemon off;\npid ${dir}/pid;\n${user}\nevents {}\n${http}\n`);
      return start(t, 'nginx', ['-p', dir, '-e', 'stderr', '-c', file]);
    },
  },
  caddy: {
    skip: missing('caddy'),
    async start(t, dir, port, origin) {
      const site = adapt(await example('Caddyfile'), [
        ['127.0.0.1:8080', `127.0.0.1:${origin}`],
        ['comments.example {', `http://127.0.0.1:${port} {`],
      ]);
      const file = join(dir, 'Caddyfile');
      await writeFile(file, `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
      const args = ['run', '--adapter', 'caddyfile', '--config', file];
      return start(t, 'caddy', args, { XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir });
    },
  },
};

for (const [name, proxy] of Object.entries(PROXIES)) {
  const skip = GAILOU ? proxy.skip : 'E2E_GAILOU is not set';
  test(`behind ${name} readers count by their own addresses, and events and pictures pass`, {
    skip,
  }, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), `gailou-${name}-`));
    t.after(() => rm(dir, { recursive: true, force: true }));
    const [port, origin] = [await freePort(), await freePort()];
    const proxyLog = await proxy.start(t, dir, port, origin);
    const health = { path: '/healthz' };
    // The proxy is there before the program.
    await eventually(async () => (await ask(port, '127.0.0.2', health)).status === 502, proxyLog);
    const log = start(t, GAILOU, ['--bind', `127.0.0.1:${origin}`, '--data', join(dir, 'data')], {
      GAILOU_TRUSTED_PROXIES: '127.0.0.1',
      GAILOU_LIMITS__GUESTS_PER_HOUR_ADDRESS: '1',
      GAILOU_RULES__BLOCKED__NETWORKS: '127.0.0.9',
    });
    await eventually(async () => (await ask(port, '127.0.0.2', health)).status === 200, log);
    assert.equal((await ask(port, '127.0.0.2', { path: '/metrics' })).status, 404);

    // One guest an hour for each address.
    const guest = await makeGuest(port, '127.0.0.2');
    assert.equal(guest.status, 201, guest.text);
    assert.equal((await makeGuest(port, '127.0.0.2')).status, 429);
    for (const forged of ['198.51.100.7', '127.0.0.1', '198.51.100.7, 127.0.0.1', 'unknown']) {
      const answer = await makeGuest(port, '127.0.0.2', { 'x-forwarded-for': forged });
      assert.equal(answer.status, 429, `${forged}: ${answer.text}`);
    }
    // Nor can one reader use up what another has, or leave a block.
    const [victim, blocked] = ['127.0.0.3', '127.0.0.9'];
    assert.equal((await makeGuest(port, '127.0.0.4', { 'x-forwarded-for': victim })).status, 201);
    assert.equal((await makeGuest(port, victim)).status, 201);
    assert.equal((await makeGuest(port, blocked, { 'x-forwarded-for': victim })).status, 403);

    const { token } = JSON.parse(guest.text);
    const authorization = `Bearer ${token}`;
    const post = async () => {
      const posted = await ask(port, '127.0.0.2', {
        method: 'POST',
        path: '/v1/subjects/article/proxied/comments',
        headers: { ...JSON_BODY, authorization },
        body: JSON.stringify({ content: 'Hello through a proxy' }),
      });
      assert.equal(posted.status, 201, posted.text);
    };
    await firstEvent(port, '127.0.0.5', post);

    const uploaded = await ask(port, '127.0.0.2', {
      method: 'POST',
      path: '/v1/media',
      headers: { 'content-type': 'multipart/form-data; boundary=form', authorization },
      body: pictureForm(),
    });
    assert.equal(uploaded.status, 201, uploaded.text);
    assert.doesNotMatch(log(), /trusted_proxies/, 'the log knows the proxy');
  });
}

test('proxy that no setting names is in the log', {
  skip: GAILOU ? false : 'E2E_GAILOU is not set',
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'gailou-proxy-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const port = await freePort();
  const log = start(t, GAILOU, ['--bind', `127.0.0.1:${port}`, '--data', join(dir, 'data')], {});
  const forwarded = { path: '/v1/latest', headers: { 'x-forwarded-for': '198.51.100.7' } };
  await eventually(async () => (await ask(port, '127.0.0.1', forwarded)).status === 200, log);
  await eventually(async () => /setting trusted_proxies does not name it/.test(log()), log);
});

test('unit is accepted by systemd', { skip: missing('systemd-analyze') }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'gailou-unit-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  // A program that exists, which it also asks for.
  const unit = adapt(await example('gailou.service'), [
    ['ExecStart=/usr/local/bin/gailou', `ExecStart=${process.execPath}`],
  ]);
  const file = join(dir, 'gailou.service');
  await writeFile(file, unit);
  const { stdout, stderr } = await run('systemd-analyze', ['verify', file]);
  assert.equal(stdout + stderr, '');
  await run('systemd-analyze', ['security', '--offline=true', '--threshold=20', file]);
});

test('Dockerfile has no finding of its linter', { skip: missing('hadolint') }, async () => {
  await run('hadolint', [join(ROOT, 'Dockerfile')]);
});

/** Most bytes of the image, as it is stored on a server. */
const MAX_IMAGE_BYTES = 60_000_000;
/** What the image's program, which is compiled as one crate, has of a program of `make build`: 51 MB of 64, without symbols. */
const IMAGE_OF_RELEASE = 51 / 64;
/** The same of one that is not optimised: 51 MB of 126. */
const IMAGE_OF_DEBUG = 51 / 126;

/** The files of the image beside the program, as the Dockerfile's last stage has them: it begins empty. */
async function filesBesideProgram() {
  const { stdout } = await run('ldd', [GAILOU]);
  // OpenSSL is a part of the image's program.
  const libraries = stdout.match(/\/\S+/g).filter((file) => !/lib(ssl|crypto)/.test(file));
  const licences = ['LICENSE-APACHE', 'LICENSE-MIT'].map((name) => join(ROOT, name));
  return [...libraries, '/etc/ssl/certs/ca-certificates.crt', ...licences];
}

test('image has at most 60 MB', {
  skip: GAILOU ? missing('strip', 'ldd') : 'E2E_GAILOU is not set',
}, async (t) => {
  assert.match(await readFile(join(ROOT, 'Dockerfile'), 'utf8'), /^FROM scratch$/m);
  const dir = await mkdtemp(join(tmpdir(), 'gailou-image-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const stripped = join(dir, 'gailou');
  await run('strip', ['-o', stripped, GAILOU]);
  const isDebug = basename(dirname(await realpath(GAILOU))) === 'debug';
  const sizes = await Promise.all(
    (await filesBesideProgram()).map(async (file) => (await stat(file)).size),
  );
  const program = (await stat(stripped)).size * (isDebug ? IMAGE_OF_DEBUG : IMAGE_OF_RELEASE);
  const bytes = sizes.reduce((sum, size) => sum + size, program);
  t.diagnostic(
    `${(bytes / 1e6).toFixed(1)} MB, of which the program has ${(program / 1e6).toFixed(1)}`,
  );
  assert.ok(program > 20_000_000 && bytes <= MAX_IMAGE_BYTES, `${bytes} bytes`);
});

test('compose.yaml has the shape of its specification', {
  skip: missing('check-jsonschema'),
}, async (t) => {
  const check = (file) =>
    run('check-jsonschema', ['--builtin-schema', 'vendor.compose-spec', file]);
  const file = join(ROOT, 'compose.yaml');
  await check(file);
  // The check finds what is no such file.
  const dir = await mkdtemp(join(tmpdir(), 'gailou-compose-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const wrong = join(dir, 'compose.yaml');
  await writeFile(
    wrong,
    adapt(await readFile(file, 'utf8'), [['restart: on-failure:5', 'restat: x']]),
  );
  await assert.rejects(check(wrong));
});
