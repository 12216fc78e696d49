// Every fenced block of every document, in the order of its page: commands run with the real program, settings load,
// what is shown as JSON is compared with real answers, and pieces of pages are on a page in a browser. A block that is
// new fails until a test takes it. Commands that no test can run are in not-run.mjs; docs/from-*.md are followed by
// examples/from.test.mjs, and the blocks in Rust of packages/rust are tests of its documentation.
//
//   E2E_GAILOU              the origin's program
//   E2E_CHROMIUM            the browser
//   GAILOU_TEST_SERVICES    MariaDB, MySQL, Redis and Kafka, for the pages about a cluster
//
// Nothing is skipped: what is missing fails.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { NOT_RUN } from './not-run.mjs';
import { blocksOf, Page, ROOT } from './page.mjs';
import * as cluster from './pages/cluster.mjs';
import * as packages from './pages/packages.mjs';
import * as sites from './pages/sites.mjs';
import * as using from './pages/using.mjs';
import { startShared } from './shared.mjs';

/** Each document that has blocks, and who follows it. */
const PAGES = {
  'README.md': using.readme,
  'CONTRIBUTING.md': using.contributing,
  'docs/accounts.md': sites.accounts,
  'docs/alerts.md': using.alerts,
  'docs/cluster.md': cluster.cluster,
  'docs/compat.md': sites.compat,
  'docs/edge.md': sites.edge,
  'docs/embedding.md': sites.embedding,
  'docs/importing.md': using.importing,
  'docs/logging.md': using.logging,
  'docs/media.md': using.media,
  'docs/moderation.md': using.moderation,
  'docs/operations.md': using.operations,
  'docs/search.md': using.search,
  'docs/testing.md': using.testing,
  'docs/webhooks.md': using.webhooks,
  'examples/README.md': sites.examples,
  'packages/README.md': packages.readme,
  'packages/gailou/README.md': packages.elements,
  'packages/react/README.md': packages.react,
  'packages/vue/README.md': packages.vue,
  'packages/client/README.md': packages.client,
  'packages/python/README.md': packages.python,
  'packages/rust/README.md': packages.rust,
};
const FOLLOWED_ELSEWHERE = /^docs\/from-[\w]+\.md$/;

let shared;
before(async () => {
  for (const name of ['E2E_GAILOU', 'E2E_CHROMIUM', 'GAILOU_TEST_SERVICES']) {
    assert.ok(process.env[name], `${name} is not set`);
  }
  shared = await startShared();
});
after(() => shared?.stop());

describe('documents', { concurrency: 2 }, () => {
  for (const [name, follow] of Object.entries(PAGES)) {
    test(name, async () => {
      const page = new Page(name);
      try {
        await follow(page, shared);
        page.end();
      } finally {
        await page.close();
      }
    });
  }

  test('every document with blocks is followed', () => {
    const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
      cwd: ROOT,
    });
    const documents = String(listed).split('\n').filter(Boolean);
    const withBlocks = documents.filter(
      (name) => blocksOf(readFileSync(join(ROOT, name), 'utf8')).length > 0,
    );
    const followed = withBlocks.filter((name) => !FOLLOWED_ELSEWHERE.test(name));
    assert.deepEqual(followed.sort(), Object.keys(PAGES).sort());
    const unknown = NOT_RUN.filter(({ document }) => !(document in PAGES));
    assert.deepEqual(unknown, []);
  });

  test('no fence is written so that it is not found', () => {
    const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
      cwd: ROOT,
    });
    for (const name of String(listed).split('\n').filter(Boolean)) {
      const text = readFileSync(join(ROOT, name), 'utf8');
      assert.doesNotMatch(text, /^\s*~~~/m, name);
      assert.equal([...text.matchAll(/^.*```/gm)].length, 2 * blocksOf(text).length, name);
    }
  });
});
