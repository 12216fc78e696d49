// The deployment: every environment of wrangler.toml is complete, and the Worker is below its limits of
// size and start-up time.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { BIN, ENV, ROOT } from './worker.mjs';
import { answered, median, startWorkerd } from './workerd.mjs';

/** The largest compressed upload, in kB of 1,000 bytes. */
const MAX_UPLOAD_KB = 400;
/** The longest start-up, which is compiling and instantiating, in milliseconds of processor time. */
const MAX_START_CPU_MS = 20;
const STARTS = 9;
const CONFIG = fileURLToPath(new URL('start.capnp', import.meta.url));

/** The output of `wrangler deploy --dry-run` for an environment, with its table of bindings. */
async function dryRun(environment) {
  const out = await mkdtemp(join(tmpdir(), 'gailou-deploy-'));
  try {
    const args = [
      'deploy',
      '--dry-run',
      '--outdir',
      out,
      ...(environment ? ['--env', environment] : ['--env=']),
    ];
    const { stdout, stderr } = await promisify(execFile)(join(BIN, 'wrangler'), args, {
      cwd: ROOT,
      env: ENV,
    });
    return stdout + stderr;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

for (const environment of ['', 'dev', 'staging', 'production']) {
  test(`dry run of ${environment || 'the top level'} has every binding and is at most ${MAX_UPLOAD_KB} kB`, async () => {
    const said = await dryRun(environment);
    assert.doesNotMatch(said, /WARNING|ERROR/i, said);
    const [, size, unit] = said.match(/gzip: ([\d.]+) (KiB|MiB)/) ?? assert.fail(said);
    const kb = (Number(size) * (unit === 'KiB' ? 1_024 : 1_048_576)) / 1_000;
    assert.ok(kb <= MAX_UPLOAD_KB, `${kb} kB compressed are more than ${MAX_UPLOAD_KB}`);
    for (const binding of ['PAGES', 'ORIGIN', 'TOKEN_AUDIENCE'])
      assert.ok(said.includes(`env.${binding}`), said);
    const limits = ['LIMIT_WRITES_MEMBER', 'LIMIT_WRITES_ADDRESS', 'LIMIT_READS_ADDRESS'];
    for (const binding of limits)
      assert.equal(
        said.includes(`env.${binding}`),
        ['staging', 'production'].includes(environment),
        said,
      );
  });
}

/** The processor time of a new workerd until its first answer, in milliseconds. */
async function start(name) {
  const workerd = await startWorkerd(CONFIG, name, ['http']);
  try {
    assert.equal((await answered(`${workerd.urls.http}/healthz`)).status, 200);
    return workerd.cpuMs();
  } finally {
    await workerd.stop();
  }
}

test('start-up takes at most 20 ms of processor time', async () => {
  const costs = { empty: [], loaded: [], edge: [] };
  for (let n = 0; n < STARTS; n += 1)
    for (const name of Object.keys(costs)) costs[name].push(await start(name));
  const [empty, loaded, edge] = Object.values(costs).map(median);
  const ms = (cost) => `${cost.toFixed(1)} ms`;
  console.log(
    `start-up ${ms(loaded - empty)}, the first answer ${ms(edge - loaded)}, beside workerd's ${ms(empty)}`,
  );
  assert.ok(loaded - empty <= MAX_START_CPU_MS, ms(loaded - empty));
});
