import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRetryAfterMs } from '../../../../packages/client/src/retry-after.ts';
import { ApiProblem } from './problem.ts';
import { categoriesOf, fieldDetail, isOutcomeUnknown, isRepeatable } from './problem-details.ts';
import { problemFrom } from './problem-from.ts';

describe('outcome', () => {
  for (const [status, isUnknown, isWorthAnother] of [
    [0, true, true],
    [400, false, false],
    [409, false, false],
    [429, false, true],
    [500, false, true],
    [502, true, true],
    [503, true, true],
    [504, true, true],
  ] as const) {
    test(`status ${status}`, () => {
      const problem = new ApiProblem({ status });
      assert.equal(isOutcomeUnknown(problem), isUnknown);
      assert.equal(isRepeatable(problem), isWorthAnother);
    });
  }
});

test('categories are named once', () => {
  const errors = [{ category: 'spam' }, { detail: 'abuse' }, { category: 'spam' }, {}];
  assert.equal(categoriesOf(new ApiProblem({ errors })), 'spam, abuse');
});

test('field detail is null for a field without error', () => {
  const problem = new ApiProblem({ errors: [{ field: 'name', detail: 'taken' }] });
  assert.equal(fieldDetail(problem, 'name'), 'taken');
  assert.equal(fieldDetail(problem, 'content'), null);
});

describe('problem from an answer', () => {
  test('takes code detail and retry after', () => {
    const response = new Response(null, { status: 429, headers: { 'Retry-After': '7' } });
    const problem = problemFrom(response, { code: 'rate_limited', title: 'Slow down' });
    assert.equal(problem.code, 'rate_limited');
    assert.equal(problem.detail, 'Slow down');
    assert.equal(problem.retryAfterMs, 7_000);
  });

  test('without a body the status decides', () => {
    assert.equal(problemFrom(new Response(null, { status: 500 }), null).code, 'internal');
    assert.equal(problemFrom(new Response(null, { status: 502 }), null).code, 'unavailable');
  });
});

describe('retry after', () => {
  const now = Date.UTC(2026, 10, 22, 12, 0, 0);
  for (const [value, ms] of [
    [null, 0],
    ['', 0],
    ['0', 0],
    ['30', 30_000],
    ['Sun, 22 Nov 2026 12:00:05 GMT', 5_000],
    ['Sun, 22 Nov 2026 11:59:00 GMT', 0],
    ['soon', 0],
  ] as const) {
    test(`${value}`, () => assert.equal(parseRetryAfterMs(value, now), ms));
  }
});
