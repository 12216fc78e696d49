// The Python client, as who installs it gets it: in an environment of its own, without the network, it is checked and run
// against the server. `scripts/setup.sh test` fetches the wheels.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BASE, skipWithout, TOKEN_SECRET } from './support/environment.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGE = join(ROOT, 'packages/python');
const WHEELS = join(ROOT, '.tools/python-client/wheels');

const run = promisify(execFile);

let folder;

/** Runs a module of the environment; what it prints is the message of a failure. */
async function python(...parameters) {
  const env = {
    ...process.env,
    GAILOU_BASE: BASE,
    GAILOU_TOKEN_SECRET: TOKEN_SECRET ?? '',
    PYTHONPYCACHEPREFIX: join(folder, 'cache'),
  };
  const program = join(folder, 'bin/python');
  return run(program, parameters, { cwd: folder, env }).catch(({ stdout, stderr }) =>
    assert.fail(stdout + stderr),
  );
}

describe('Python client', () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gailou-python-client-'));
    await run('python3', ['-m', 'venv', folder]);
    const options = ['--quiet', '--disable-pip-version-check', '--no-compile', '--no-index'];
    const requirements = join(PACKAGE, 'requirements.txt');
    const packages = ['--find-links', WHEELS, '--requirement', requirements, PACKAGE];
    await python('-m', 'pip', 'install', ...options, ...packages);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('shapes are those of the OpenAPI document', async () => {
    await python(join(PACKAGE, 'generate.py'), '--check');
  });

  test('types are complete', async () => {
    const settings = ['--config-file', join(PACKAGE, 'pyproject.toml'), '--cache-dir', folder];
    const checked = ['gailou', 'tests', 'generate.py'].map((name) => join(PACKAGE, name));
    await python('-m', 'mypy', ...settings, ...checked);
  });

  test('member posts once over faults, and reads each comment once to the end', {
    skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
  }, async () => {
    await python('-m', 'unittest', 'discover', '--start-directory', join(PACKAGE, 'tests'));
  });
});
