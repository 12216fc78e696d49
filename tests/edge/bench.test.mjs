// The benchmark of the edge runs for a moment, so that it fails here when a format has changed, and not when it is to
// measure. Nothing is said about its figures.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { ENV, ROOT } from './worker.mjs';

test('benchmark gets the same page of every level from the edge and from JavaScript', async () => {
  const run = [join(ROOT, 'tests/edge/bench/run.mjs'), '1', '1'];
  const { stdout } = await promisify(execFile)(process.execPath, run, { env: ENV });
  for (const level of ['memory', 'Cache API', 'KV']) assert.ok(stdout.includes(level), stdout);
});
