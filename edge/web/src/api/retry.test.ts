import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiProblem } from './problem.ts';
import { MAX_RETRIES, newIdempotencyKey, retryWhileOutcomeUnknown } from './retry.ts';

/** Fails with each of the problems in turn, then succeeds; answers what happened. */
async function attempt(...problems: Error[]) {
  const waits: number[] = [];
  let attempts = 0;
  const run = async () => {
    const problem = problems[attempts];
    attempts += 1;
    if (problem) throw problem;
    return 'done';
  };
  const result = await retryWhileOutcomeUnknown(
    run,
    (waitMs) => waits.push(waitMs),
    async () => {},
  ).catch((problem: unknown) => problem);
  return { result, attempts, waits };
}

const unknown = () => new ApiProblem({ status: 503 });

test('unknown outcome is repeated with growing pauses', async () => {
  const { result, attempts, waits } = await attempt(unknown(), unknown());
  assert.equal(result, 'done');
  assert.equal(attempts, 3);
  const [first = 0, second = 0] = waits;
  assert.ok(first >= 800 && first <= 1_200, `${first} ms`);
  assert.ok(second >= 1_600 && second <= 2_400, `${second} ms`);
});

test('retry after is respected', async () => {
  const { waits } = await attempt(new ApiProblem({ status: 503, retryAfterMs: 9_000 }));
  assert.deepEqual(waits, [9_000]);
});

test('known outcome is not repeated', async () => {
  const problem = new ApiProblem({ status: 409 });
  const { result, attempts } = await attempt(problem);
  assert.equal(result, problem);
  assert.equal(attempts, 1);
});

test('other errors are not repeated', async () => {
  const error = new TypeError('a mistake');
  assert.equal((await attempt(error)).result, error);
});

test('last problem is given after the last retry', async () => {
  const problems = Array.from({ length: MAX_RETRIES + 1 }, unknown);
  const { result, attempts } = await attempt(...problems);
  assert.equal(result, problems.at(-1));
  assert.equal(attempts, MAX_RETRIES + 1);
});

test('long wait is left to the reader', async () => {
  const { attempts, waits } = await attempt(new ApiProblem({ status: 503, retryAfterMs: 10_001 }));
  assert.equal(attempts, 1);
  assert.deepEqual(waits, []);
});

test('idempotency keys differ', () => assert.notEqual(newIdempotencyKey(), newIdempotencyKey()));
