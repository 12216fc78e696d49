// Measures the first page of a thread, a post and a like of Gailou, and of other comment systems beside it, each a process of
// its own with the same comments, in turns, by wrk with the same number of connections.
//
//   node tests/peers/run.mjs GAILOU [seconds per load] [rounds]
//
// `scripts/setup.sh peers` installs the others. Limits of rates are off everywhere; everything else is as it comes.
// The median of the rounds counts. scripts/bench-table.mjs makes a table of the figures.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { freePort, ROOT } from '../edge/worker.mjs';
import { answered, median } from '../edge/workerd.mjs';

const GAILOU = process.argv[2];
const SECONDS = Number(process.argv[3] || 4);
const ROUNDS = Number(process.argv[4] ?? 3);
const CONNECTIONS = 16;
const COMMENTS = 1_000;
const MEMBERS = 1_000;
/** Different requests of a load. */
const REQUESTS = 10_000;
/** In a request: what is another number in each one that is sent. */
const NUMBER = '########';
const SECRET = 'a secret of 32 bytes for the benchmark';
const INSTALLED = join(ROOT, '.tools/peers');
const THREAD = '/bench/';

const json = { 'content-type': 'application/json' };
const send = (method, path, headers, body) => ({
  method,
  path,
  headers,
  body: JSON.stringify(body),
});

function token(n) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1_000) + 86_400;
  const claims = {
    sub: String(n),
    name: `reader ${n}`,
    role: 'member',
    level: 1,
    aud: 'gailou',
    exp,
  };
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`;
}
const tokens = Array.from({ length: MEMBERS }, (_, n) => ({
  authorization: `Bearer ${token(n + 1)}`,
}));
/** Request n is of another member than the one before; requests of one comment are of different members. */
const member = (n) => tokens[(n + Math.floor(n / COMMENTS)) % MEMBERS];
const address = (n) => ({ 'x-forwarded-for': `10.0.${(n >> 8) & 255}.${n & 255}` });

/** Waline makes no tables; these have the columns that its server reads and writes for guests. */
const WALINE_TABLES = `
  CREATE TABLE wl_Comment (
    id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER, pid INTEGER, rid INTEGER, url TEXT, status TEXT, comment TEXT,
    nick TEXT, mail TEXT, link TEXT, ip TEXT, ua TEXT, sticky NUMERIC, "like" INTEGER,
    insertedAt DATETIME, createdAt DATETIME, updatedAt DATETIME
  );
  CREATE TABLE wl_Users (id INTEGER PRIMARY KEY AUTOINCREMENT, email TEXT, display_name TEXT, type TEXT);`;

/** At each request Waline asks a service on the Internet how readers can sign in; this one answers on this machine. */
const signInService = createServer((_, response) => response.end('{"services":[]}'));
signInService.listen(0, '127.0.0.1');
await once(signInService, 'listening');
const signIn = `http://127.0.0.1:${signInService.address().port}`;

/** The systems: how each is started in a folder, its requests, and the id in its answer to a post. */
const SYSTEMS = [
  {
    name: 'Gailou',
    start: (folder, port) => ({
      command: GAILOU,
      args: ['--bind', `127.0.0.1:${port}`],
      env: { GAILOU_DATA: folder, GAILOU_LIMITS: 'off', GAILOU_TOKEN_SECRET: SECRET },
    }),
    // What the element asks for.
    page: () =>
      send('GET', '/v1/subjects/article/bench/comments?sort=hot&limit=20&view=compact', {}),
    post: (content, parent_id, n) =>
      send(
        'POST',
        '/v1/subjects/article/bench/comments',
        { ...json, ...member(n) },
        { content, parent_id },
      ),
    idOf: (answer) => answer.id,
    like: (id, n) => send('PUT', `/v1/comments/${id}/like`, member(n)),
  },
  {
    name: 'Isso 0.14.0',
    async start(folder, port) {
      const settings = join(folder, 'isso.cfg');
      await writeFile(
        settings,
        `[general]\ndbpath = ${folder}/comments.db\nhost = http://127.0.0.1\n` +
          '[guard]\nenabled = false\n[server]\ntrusted-proxies = 127.0.0.1\n',
      );
      const workers = String(availableParallelism());
      return {
        command: join(INSTALLED, 'python/bin/gunicorn'),
        args: [
          '-b',
          `127.0.0.1:${port}`,
          '-w',
          workers,
          '--preload',
          '--no-control-socket',
          'isso.run',
        ],
        env: { ISSO_SETTINGS: settings },
      };
    },
    // Its widget asks for all roots, with five replies of each.
    page: () => send('GET', `/?uri=${THREAD}&nested_limit=5`, {}),
    post: (text, parent, n) =>
      send(
        'POST',
        `/new?uri=${THREAD}`,
        { ...json, ...address(n) },
        { text, parent, author: 'Bo', title: 'A page' },
      ),
    idOf: (answer) => answer.id,
    like: (id, n) => send('POST', `/id/${id}/like`, { ...json, ...address(n) }, {}),
  },
  {
    name: 'Waline 1.39.3',
    async start(folder, port) {
      const tables = new DatabaseSync(join(folder, 'waline.sqlite'));
      tables.exec(WALINE_TABLES);
      tables.close();
      return {
        command: process.execPath,
        args: [join(INSTALLED, 'node_modules/@waline/vercel/vanilla.js'), String(port)],
        env: {
          SQLITE_PATH: folder,
          JWT_TOKEN: SECRET,
          IPQPS: '0',
          AKISMET_KEY: 'false',
          OAUTH_URL: signIn,
        },
      };
    },
    // What its widget asks for.
    page: () =>
      send(
        'GET',
        `/api/comment?path=${THREAD}&pageSize=10&page=1&lang=en-US&sortBy=insertedAt_desc`,
        {},
      ),
    post: (comment, pid, n, rid) =>
      send(
        'POST',
        '/api/comment?lang=en-US',
        { ...json, ...address(n) },
        { comment, pid, rid, nick: 'Bo', ua: 'wrk', url: THREAD },
      ),
    idOf: (answer) => answer.data.objectId,
    like: (id) => send('PUT', `/api/comment/${id}?lang=en-US`, json, { like: true }),
  },
];

/** Starts a system in a folder of its own. */
async function start(system) {
  const folder = await mkdtemp(join(tmpdir(), 'gailou-peers-'));
  const port = await freePort();
  const { command, args, env } = await system.start(folder, port);
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise((done) => child.on('exit', done));
  const stop = async () => {
    process.kill(-child.pid, 'SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  return { system, group: child.pid, url: `http://127.0.0.1:${port}`, stop };
}

/** Sends one request; the answer must be a success. */
async function call(server, { method, path, headers, body }) {
  const response = await fetch(server.url + path, { method, headers, body });
  const text = await response.text();
  const answer = text && JSON.parse(text);
  assert.ok(response.ok && !answer?.errno, `${server.system.name}: ${method} ${path}: ${text}`);
  return { answer, bytes: Buffer.byteLength(text) };
}

/** Posts copies of the demo's threads as one thread; the ids of its comments. */
async function fill(server) {
  const file = await readFile(join(ROOT, 'edge/web/demo-threads.jsonl'), 'utf8');
  const lines = file
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const ids = [];
  const byName = new Map();
  for (let n = 0; n < COMMENTS; n += 1) {
    const { id, root, parent, content } = lines[n % lines.length];
    const [parentId, rootId] = [parent, root].map((name) =>
      parent ? byName.get(name) : undefined,
    );
    const text = `${content}\n\n${n}`;
    const posted = await call(server, server.system.post(text, parentId, n, rootId));
    byName.set(id, server.system.idOf(posted.answer));
    ids.push(byName.get(id));
  }
  return ids;
}

function raw({ method, path, headers, body = '' }) {
  const all = { host: 'bench', ...headers, 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** Writes the script of wrk that sends these requests one after the other. */
async function writeScript(folder, name, requests) {
  const file = join(folder, `${name}.lua`);
  // JSON.stringify escapes as Lua does, but for what is not ASCII, which stays as it is in both.
  const texts = requests.map((request) => JSON.stringify(raw(request))).join(',\n');
  await writeFile(
    file,
    `local requests = {${texts}}\nlocal n = 0\n` +
      'function init(args) n = tonumber(args[1]) end\n' +
      'function request()\n  n = n + 1\n' +
      `  return (requests[n % #requests + 1]:gsub("${NUMBER}", string.format("%08d", n)))\nend\n`,
  );
  return file;
}

/** Drives a server with a script for one round; the rate of its successes, and how many it refused. */
async function drive(server, script, round) {
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${SECONDS}s`, '--timeout', '10s', '-s', script];
  const first = String((round + 1) * 1_000_000);
  const { stdout } = await promisify(execFile)('wrk', [...args, server.url, '--', first]);
  const found = (pattern) => Number(stdout.match(pattern)?.[1] ?? 0);
  const [, count, seconds] = stdout.match(/(\d+) requests in ([\d.]+)s/);
  // A slow server still works at what wrk no longer waits for: the next load begins when it answers.
  await call(server, server.system.page());
  const refused = found(/Non-2xx or 3xx responses: (\d+)/);
  return { rate: (Number(count) - refused) / Number(seconds), refused };
}

/** The memory of a process group, in bytes; what processes share is counted once. */
async function memory(group) {
  let kilobytes = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      const inGroup = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]) === group;
      const rollup = inGroup ? await readFile(`/proc/${pid}/smaps_rollup`, 'utf8') : '';
      kilobytes += Number(rollup.match(/^Pss:\s+(\d+)/m)?.[1] ?? 0);
    } catch {
      // The process has ended.
    }
  }
  return kilobytes * 1_024;
}

/** The requests of the loads of a system. */
function loads(system, ids) {
  const text = `comment ${NUMBER}: 写得真好, with enough words around it to be like one that people write`;
  const numbers = Array.from({ length: REQUESTS }, (_, n) => n);
  return {
    page: [system.page()],
    post: numbers.slice(0, MEMBERS).map((n) => system.post(text, undefined, n)),
    like: numbers.map((n) => system.like(ids[n % ids.length], n)),
  };
}

const WHAT = {
  page: `first page of a thread of ${COMMENTS.toLocaleString('en')} comments`,
  post: 'acknowledged posts into this thread',
  like: 'acknowledged likes in this thread',
};

/** Prints a figure of the first system beside that of each other. */
function print(what, unit, [ours, ...theirs]) {
  for (const { name, value, refused, bytes } of theirs) {
    const peer = refused ? `${name} (${refused} refused)` : name;
    const own = { value: ours.value, unit, bytes: ours.bytes };
    console.log(JSON.stringify({ what, ...own, peer, peer_value: value, peer_bytes: bytes }));
  }
}

const scripts = await mkdtemp(join(tmpdir(), 'gailou-peers-'));
const servers = [];
try {
  for (const system of SYSTEMS) servers.push(await start(system));
  const kinds = Object.keys(WHAT);
  for (const server of servers) {
    await answered(server.url + server.system.page().path);
    const ids = await fill(server);
    const requests = loads(server.system, ids);
    server.bytes = {};
    server.scripts = {};
    for (const kind of kinds) {
      // Refused for what it says: an error that has the status of a success is found here.
      server.bytes[kind] = (await call(server, requests[kind][0])).bytes;
      const file = `${server.group}-${kind}`;
      server.scripts[kind] = await writeScript(scripts, file, requests[kind]);
    }
  }
  for (const kind of kinds) {
    const rounds = servers.map(() => []);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [at, server] of servers.entries()) {
        rounds[at].push(await drive(server, server.scripts[kind], round));
      }
    }
    const figures = servers.map((server, at) => ({
      name: server.system.name,
      value: median(rounds[at].map(({ rate }) => rate)),
      refused: rounds[at].reduce((sum, { refused }) => sum + refused, 0),
      bytes: kind === 'page' ? server.bytes[kind] : undefined,
    }));
    print(WHAT[kind], '/s', figures);
  }
  const used = await Promise.all(servers.map(({ group }) => memory(group)));
  print(
    'memory after that',
    ' MB',
    servers.map(({ system }, at) => ({ name: system.name, value: used[at] / 1e6 })),
  );
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  signInService.close();
  await rm(scripts, { recursive: true, force: true });
}
