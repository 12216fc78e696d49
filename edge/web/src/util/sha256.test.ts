import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { PrefixedSha256 } from './sha256.ts';

const hexOf = (words: Int32Array) =>
  [...words].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');

test('every length of prefix and suffix has the hash of the platform', () => {
  for (let prefix = 0; prefix <= 200; prefix += 1) {
    const text = 'salt?expires=1&'.repeat(14).slice(0, prefix);
    const hash = new PrefixedSha256(text);
    for (const suffix of ['', '7', '1234567', '9'.repeat(70)]) {
      const expected = createHash('sha256')
        .update(text + suffix)
        .digest('hex');
      assert.equal(hexOf(hash.hash(suffix)), expected, `${prefix} and ${suffix.length} characters`);
    }
  }
});

test('prefix of other characters is UTF-8', () => {
  const expected = createHash('sha256').update('盖楼7').digest('hex');
  assert.equal(hexOf(new PrefixedSha256('盖楼').hash('7')), expected);
});
