// A document as a reader follows it: its fenced blocks, one after the other, its commands in a folder of their own.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { startServer } from '../edge/gailou.mjs';
import { NOT_RUN } from './not-run.mjs';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const GAILOU = process.env.E2E_GAILOU;
/** The variables of the tests but those that the program, and tests that a command runs, would take for theirs. */
export const INHERITED = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(GAILOU_|NODE_TEST_)/.test(name)),
);
/** A picture of one pixel. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const COMMAND_TIMEOUT_MS = 120_000;
/** What the program prints when it is ready. */
const READY = /gailou (?:listening on (http:\S+)|running, without an address)/;

/** The fenced blocks of a document, also those inside of lists. */
export function blocksOf(text) {
  return [...text.matchAll(/^( *)```(\w*)\n(.*?)^\1```$/gms)].map(([, indent, language, body]) => ({
    language,
    body: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}

/** The commands of a block: each as long as a shell needs to understand it. */
export function commandsOf(body) {
  const commands = [];
  let open = '';
  for (const line of body.split('\n')) {
    open += open ? `\n${line}` : line;
    if (/^\s*(#.*)?$/.test(open)) open = '';
    else if (!line.endsWith('\\') && spawnSync('bash', ['-n', '-c', open]).status === 0) {
      commands.push(open);
      open = '';
    }
  }
  assert.equal(open, '', 'a command without its end');
  return commands;
}

/** Replaces what must be there. */
export function adapt(text, changes) {
  return changes.reduce((adapted, [from, to]) => {
    assert.ok(adapted.includes(from), `there is no ${from} in:\n${text}`);
    return adapted.replaceAll(from, to);
  }, text);
}

/** Stand-ins of programs, as shell. */
const PROGRAMS = {
  // One answer a line.
  curl: (curl) => `${curl} "$@" && echo`,
  'look-up': () => `exec node '${join(import.meta.dirname, 'look-up.mjs')}' "$@"`,
};

export class Page {
  #blocks;
  #servers = [];
  #atEnd = [];
  used = new Set();

  constructor(name, env = {}) {
    this.name = name;
    this.#blocks = blocksOf(readFileSync(join(ROOT, name), 'utf8'));
    this.folder = mkdtempSync(join(tmpdir(), 'gailou-documents-'));
    const bin = join(this.folder, 'bin');
    mkdirSync(bin);
    symlinkSync(GAILOU, join(bin, 'gailou'));
    for (const [program, script] of Object.entries(PROGRAMS)) {
      const found = spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim();
      writeFileSync(join(bin, program), `#!/bin/sh\n${script(found)}\n`);
      chmodSync(join(bin, program), 0o755);
    }
    this.env = {
      ...INHERITED,
      PATH: `${bin}:${process.env.PATH}`,
      GAILOU_DATA: join(this.folder, 'data'),
      FOLDER: this.folder,
      PWD: this.folder,
      ...env,
    };
  }

  /** The next block, which must be of this language. */
  next(language) {
    const block = this.#blocks.shift();
    assert.ok(block, `${this.name} has no further block`);
    assert.equal(
      block.language,
      language,
      `${this.name}: this block is not expected:\n${block.body}`,
    );
    return block.body;
  }

  /** The next block, which stays the next one. */
  peek() {
    return this.#blocks[0]?.body ?? '';
  }

  /** What is done when the page is closed. */
  atEnd(step) {
    this.#atEnd.push(step);
  }

  /** Every block has been taken, and every row about this document was needed. */
  end() {
    assert.deepEqual(this.#blocks, [], `blocks of ${this.name} that nothing runs`);
    const rows = NOT_RUN.filter(({ document }) => document === this.name);
    const needless = rows.filter((row) => !this.used.has(row)).map(({ command }) => command);
    assert.deepEqual(needless, [], `rows of not-run.mjs that fit nothing in ${this.name}`);
  }

  /** Runs the next block; what each of its commands has printed. A command of `servers` goes on meanwhile. */
  async sh({ changes = [], servers = null, ready } = {}) {
    const printed = [];
    for (const command of commandsOf(adapt(this.next('sh'), changes))) {
      const row = NOT_RUN.find((row) => row.document === this.name && command.match(row.command));
      if (row) this.used.add(row);
      if (row && row.instead === undefined) continue;
      const typed = row ? command.replace(row.command, row.instead) : command;
      if (servers?.test(typed)) await this.start(typed, ready);
      else printed.push(await this.type(typed));
    }
    return printed;
  }

  /** Types a command: what it prints on standard output. Variables and the folder stay for the next one. */
  async type(command) {
    const state = join(this.folder, '.state');
    const script = `set -a\n${command}\nset +x; env -0 > '${state}'`;
    const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: this.env.PWD,
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: COMMAND_TIMEOUT_MS,
    });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) {
      child[stream].on('data', (chunk) => (output[stream] += chunk));
    }
    const [code] = await once(child, 'close');
    assert.equal(code, 0, `${this.name}: ${command}\n${output.stdout}${output.stderr}`);
    const variables = readFileSync(state, 'utf8').split('\0').filter(Boolean);
    this.env = Object.fromEntries(variables.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    return output.stdout;
  }

  /** Starts a command that goes on, until it says that it is ready. */
  async start(command, ready = READY) {
    const server = await startServer('bash', ['-c', `exec ${command}`], this.env, ready);
    this.#servers.push(server);
    return server;
  }

  /** The program takes the settings that the commands have set, and this file of settings. */
  async checkSettings(file) {
    await this.type(`gailou token --sub 1 --name Ann ${file ? `--config '${file}'` : ''}`);
  }

  async stopServers() {
    await Promise.all(this.#servers.splice(0).map((server) => server.stop()));
  }

  async close() {
    await this.stopServers();
    for (const step of this.#atEnd) await step();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** The value has the keys and the types of what a document shows; `…` stands for anything. */
export function assertShape(shown, value, path = '') {
  if (typeof shown === 'string' && shown.includes('…')) {
    const parts = shown.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    assert.match(String(value), new RegExp(`^${parts.join('.*')}$`, 's'), path);
    return;
  }
  assert.equal(kind(value), kind(shown), `${path}: ${JSON.stringify(value)}`);
  if (Array.isArray(shown)) {
    for (const [index, item] of shown.entries()) {
      assertShape(item, value[index], `${path}[${index}]`);
    }
    return;
  }
  if (kind(shown) !== 'object') return;
  const names = Object.keys(shown).filter((name) => name !== '…');
  const found = Object.keys(value).filter((name) => !('…' in shown) || name in shown);
  assert.deepEqual(found.sort(), [...names].sort(), `keys of ${path || 'the answer'}`);
  for (const name of names) assertShape(shown[name], value[name], `${path}.${name}`);
}

const kind = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** The JSON that a document shows, in which `,…` is what is left out. */
export const shownJson = (text) => JSON.parse(text.replaceAll(/,\s*…(?=[,}])/g, ',"…":"…"'));
