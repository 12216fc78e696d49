// Measures one process with many comments: import, start, pages, export and memory.
//
//   node tests/scale/run.mjs GAILOU [comments]
//
// A tenth of the comments is one thread of roots; the others are threads of a hundred, half of them answers. The file to
// import is piped; it and the data take some 1 kB a comment. scripts/bench-table.mjs makes a table of the figures.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, ROOT } from '../edge/worker.mjs';
import { answered, median } from '../edge/workerd.mjs';

const GAILOU = process.argv[2];
const COMMENTS = Number(process.argv[3] || 1_000_000);
const LARGE = 'article/large';
const LARGE_ROOTS = Math.floor(COMMENTS / 10);
const THREAD = 100;
const PAGE = 20;
/** The last page of the large thread whose cost is measured: all pages before it are read once. */
const DEEP = Math.floor(LARGE_ROOTS / PAGE);
const PAGE_READS = 40;
/** Threads that are read once, twice as many in all, for what each costs in memory when it is read no more. */
const IDLE_THREADS = Math.min(20_000, Math.floor((COMMENTS - LARGE_ROOTS) / THREAD / 2));

const millions = COMMENTS / 1e6;
const print = (what, value, unit, more = {}) =>
  console.log(JSON.stringify({ what: `${millions} M comments: ${what}`, value, unit, ...more }));

const demo = await readFile(join(ROOT, 'edge/web/demo-threads.jsonl'), 'utf8');
const texts = demo
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line).content);

/** The lines of the import, some thousands at a time. */
function* parts() {
  const now = Date.now();
  let lines = [];
  for (let n = 0; n < COMMENTS; n += 1) {
    const isLarge = n < LARGE_ROOTS;
    const first = n - ((n - LARGE_ROOTS) % THREAD);
    const isRoot = isLarge || n - first < THREAD / 2;
    lines.push(
      JSON.stringify({
        subject: (isLarge ? LARGE : `article/${first}`).replace('/', ':'),
        id: String(n),
        root: isRoot ? null : String(n - THREAD / 2),
        parent: isRoot ? null : String(n - THREAD / 2),
        author: `reader ${n % 50_000}`,
        author_id: String((n % 50_000) + 1),
        content: texts[n % texts.length],
        likes: n % 7 === 0 ? n % 50 : 0,
        created_at: now - (COMMENTS - n) * 10,
      }),
    );
    if (lines.length === 5_000) {
      yield `${lines.join('\n')}\n`;
      lines = [];
    }
  }
  yield lines.join('\n');
}

const folder = await mkdtemp(join(tmpdir(), 'gailou-scale-'));
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  GAILOU_DATA: join(folder, 'data'),
  GAILOU_LIMITS: 'off',
};

/** Runs a command; the seconds it takes, and what it says last. */
async function run(args, input) {
  const started = performance.now();
  const child = spawn(GAILOU, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const [ended, output] = [once(child, 'exit'), []];
  let bytes = 0;
  child.stdout.on('data', (part) => {
    bytes += part.length;
    output[0] = part;
  });
  for (const part of input ?? []) {
    if (!child.stdin.write(part)) await once(child.stdin, 'drain');
  }
  child.stdin.end();
  const [code] = await ended;
  assert.equal(code, 0);
  return { seconds: (performance.now() - started) / 1_000, bytes, last: String(output[0]) };
}

/** Starts the server; it, and the seconds until it answers. */
async function start() {
  const port = await freePort();
  const started = performance.now();
  const child = spawn(GAILOU, ['--bind', `127.0.0.1:${port}`], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  await answered(`${url}/v1/subjects/${LARGE}/comments`);
  return { child, url, seconds: (performance.now() - started) / 1_000 };
}

async function stop({ child }) {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

/** Reads threads from number `first` on, and says the server's memory then, and what it has grown since `before`. */
async function memoryOfThreads(server, first, before) {
  for (let n = first; n < first + IDLE_THREADS; n += 1) {
    await ask(`${server.url}/v1/subjects/article/${LARGE_ROOTS + n * THREAD}/comments`);
  }
  const now = await memory(server);
  return { memory: now, growth: now - before };
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** The text that a GET answers, and the milliseconds it takes. */
function ask(url) {
  return new Promise((done, failed) => {
    const started = performance.now();
    const request = get(url, { agent }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        if (response.statusCode !== 200) failed(new Error(`${url}: ${text}`));
        done({ text, ms: performance.now() - started });
      });
    });
    request.on('error', failed);
  });
}

/** The bytes of a process's memory that no other has. */
async function memory({ child }) {
  const rollup = await readFile(`/proc/${child.pid}/smaps_rollup`, 'utf8');
  return Number(rollup.match(/^Private_Dirty:\s+(\d+)/m)[1]) * 1_024;
}

async function size(path) {
  const found = await stat(path);
  if (!found.isDirectory()) return found.size;
  const sizes = await Promise.all((await readdir(path)).map((name) => size(join(path, name))));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * The median milliseconds of each of these pages, which are read in turns. Each read asks for another length, so that none is
 * remembered.
 */
async function pageTimes(...urls) {
  const times = urls.map(() => []);
  for (let n = 0; n < PAGE_READS; n += 1) {
    for (const [page, url] of urls.entries())
      times[page].push((await ask(`${url}&limit=${n + 1}`)).ms);
  }
  return times.map(median);
}

async function measurePages(server, sort) {
  const list = `${server.url}/v1/subjects/${LARGE}/comments?sort=${sort}`;
  let cursor = '';
  for (let page = 1; page < DEEP; page += 1) {
    const { text } = await ask(`${list}&limit=${PAGE}${cursor}`);
    cursor = `&cursor=${JSON.parse(text).page.next}`;
  }
  const [first, deep] = await pageTimes(list, list + cursor);
  print(`page ${DEEP.toLocaleString('en')} of one thread by \`${sort}\``, deep, ' ms', {
    peer: 'page 1',
    peer_value: first,
    ratio_at_most: 1.2,
  });
}

/** Waits until the index has all comments: there is one that answers, and nothing waits for it twice in a row. */
async function indexed(server) {
  const search = `${server.url}/v1/subjects/${LARGE}/search?q=floor`;
  for (let ready = 0; ready < 2; ) {
    await new Promise((done) => setTimeout(done, 2_000));
    const { text } = await ask(`${server.url}/metrics`);
    const isEmpty = /^gailou_search_queue_comments 0$/m.test(text);
    ready = isEmpty && (await fetch(search)).ok ? ready + 1 : 0;
  }
}

let server;
try {
  server = await start();
  const empty = await memory(server);
  await stop(server);
  const imported = await run(['import', '-'], parts());
  assert.equal(JSON.parse(imported.last.trim().split('\n').at(-1)).imported, COMMENTS);
  print('import', COMMENTS / imported.seconds, '/s', { at_least: 50_000 });

  server = await start();
  print('start until the first page', server.seconds, ' s', { at_most: 2 });
  await indexed(server);
  await measurePages(server, 'new');
  await measurePages(server, 'hot');
  await stop(server);
  const exported = await run(['export']);
  print('export', COMMENTS / exported.seconds, '/s', { at_least: 50_000 });
  print('bytes of an export', exported.bytes / COMMENTS, ' B a comment');
  print('the data', (await size(env.GAILOU_DATA)) / COMMENTS, ' B a comment');

  server = await start();
  const filled = await memory(server);
  print(
    'memory after the start, more than without comments',
    (filled - empty) / 1e6 / millions,
    ' MB a million',
  );
  const few = await memoryOfThreads(server, 0, filled);
  print(
    `${IDLE_THREADS.toLocaleString('en')} threads that were read`,
    few.growth / IDLE_THREADS,
    ' B a thread',
  );
  // What is kept for readers has bounds: with twice as many threads it is not more.
  const more = await memoryOfThreads(server, IDLE_THREADS, few.memory);
  print('as many others after these', more.growth / IDLE_THREADS, ' B a thread', {
    at_most: 1_000,
  });
} finally {
  agent.destroy();
  server?.child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}
