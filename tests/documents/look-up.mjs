// Looks up what a command names that is not run: the files and objects of Kubernetes, the packages and tests of cargo and Node.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KUBERNETES = join(ROOT, 'examples/deploy/kubernetes');
const [program, ...words] = process.argv.slice(2);
const after = (name) => words.flatMap((word, index) => (word === name ? [words[index + 1]] : []));

/** `Kind/name` of every object of the example, in small letters. */
function objects() {
  const files = readdirSync(KUBERNETES).filter((name) => name.endsWith('.yaml'));
  const documents = files.flatMap((name) =>
    readFileSync(join(KUBERNETES, name), 'utf8').split(/^---$/m),
  );
  return documents.map((text) => {
    const kind = /^kind: (\w+)/m.exec(text)?.[1];
    const name = /^metadata:.*?\bname: ([\w-]+)/ms.exec(text)?.[1];
    return `${kind}/${name}`.toLowerCase();
  });
}

function kubectl() {
  for (const file of after('-f')) {
    if (file === '-') writeFileSync(join(process.env.FOLDER, 'applied.yaml'), readFileSync(0));
    else assert.ok(existsSync(file), `there is no ${file}`);
  }
  for (const folder of [...after('-k'), ...after('kustomize')]) {
    assert.ok(
      existsSync(join(folder, 'kustomization.yaml')),
      `${folder} has no kustomization.yaml`,
    );
  }
  const namespaces = after('-n').map((name) => `namespace/${name}`);
  const named = words.filter((word) => /^(job|deployment|deploy)\/|^job$/.test(word));
  const known = objects();
  for (const name of [...namespaces, ...named]) {
    const full =
      name === 'job'
        ? `job/${words[words.indexOf('job') + 1]}`
        : name.replace('deploy/', 'deployment/');
    assert.ok(known.includes(full), `there is no ${full} among ${known}`);
  }
  // What it would print, for a pipe.
  if (words[0] === 'kustomize') console.log('kind: List');
}

function cargo() {
  const metadata = execFileSync(
    'cargo',
    ['metadata', '--no-deps', '--offline', '--format-version', '1'],
    { cwd: ROOT },
  );
  const { packages } = JSON.parse(metadata);
  const found = packages.find(({ name }) => name === after('-p')[0]);
  assert.ok(found, `there is no package ${after('-p')}`);
  for (const name of after('--test')) {
    assert.ok(
      found.targets.some((target) => target.name === name && target.kind.includes('test')),
      name,
    );
    const filter = words[words.indexOf(name) + 1];
    if (!filter) continue;
    assert.ok(
      existsSync(join(ROOT, 'tests/tests', name, `${filter}.rs`)),
      `${name} has no file ${filter}`,
    );
  }
  for (const feature of after('--features')) assert.ok(feature in found.features, feature);
  if (words.includes('--lib'))
    assert.ok(found.targets.some((target) => target.kind.includes('lib')));
}

/** `npm test` and `node --test FILE`. */
function npm() {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  assert.ok(scripts.test);
}

function node() {
  assert.ok(existsSync(join(ROOT, words[0])), `there is no ${words[0]}`);
}

({ kubectl, cargo, npm, node })[program]();
