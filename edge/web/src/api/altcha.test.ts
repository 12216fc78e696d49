import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { solveAltcha } from './altcha.ts';

const SALT = '070707070707070707070707?expires=1800000300&guest=9223372036854775805&';

function challengeOf(number: number, maxnumber: number) {
  const challenge = createHash('sha256').update(`${SALT}${number}`).digest('hex');
  return { algorithm: 'SHA-256', challenge, maxnumber, salt: SALT, signature: 'signed' };
}

for (const number of [0, 1, 4_321, 50_000]) {
  test(`${number} is found`, async () => {
    const challenge = challengeOf(number, 50_000);
    const payload = await solveAltcha(challenge);
    const { maxnumber, ...rest } = challenge;
    assert.equal(maxnumber, 50_000);
    assert.deepEqual(JSON.parse(atob(payload ?? '')), { ...rest, number });
  });
}

test('number above the largest is not found', async () => {
  assert.equal(await solveAltcha(challengeOf(5_001, 5_000)), null);
});

test('page gets its turn many times', async () => {
  let turns = 0;
  const pause = async () => {
    turns += 1;
  };
  await solveAltcha(challengeOf(300_000, 300_000), pause);
  assert.ok(turns > 3, `${turns} turns`);
});
