import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pageKey } from './page-subject.ts';

const EXAMPLES = new URL('../../../../tests/data/page-addresses.tsv', import.meta.url);

test('addresses of one page have one key, as on the server', () => {
  const examples = readFileSync(EXAMPLES, 'utf8').split('\n').filter(Boolean);
  assert.ok(examples.length > 10);
  for (const [address = '', key] of examples.map((line) => line.split('\t'))) {
    assert.equal(pageKey(address), key, address);
  }
});
