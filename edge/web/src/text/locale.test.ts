import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiProblem } from '../api/problem.ts';
import { describeProblem } from './describe-problem.ts';
import { en } from './en.ts';
import { Locale } from './locale.ts';
import './later.ts';
import { zh } from './zh.ts';

const ENGLISH = new Locale({ tag: 'en', text: en });
const CHINESE = new Locale({ tag: 'zh-CN', text: zh });

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('time ago', () => {
  const now = Date.UTC(2026, 10, 22, 12);
  for (const [agoMs, english, chinese] of [
    [-5 * MINUTE_MS, 'just now', '刚刚'],
    [59_999, 'just now', '刚刚'],
    [MINUTE_MS, '1 minute ago', '1分钟前'],
    [59 * MINUTE_MS, '59 minutes ago', '59分钟前'],
    [60 * MINUTE_MS, '1 hour ago', '1小时前'],
    [DAY_MS, 'yesterday', '昨天'],
    [29 * DAY_MS, '29 days ago', '29天前'],
    [30 * DAY_MS, 'Oct 23, 2026', '2026年10月23日'],
  ] as const) {
    test(`${agoMs} ms`, () => {
      assert.equal(ENGLISH.timeAgo(now - agoMs, now), english);
      assert.equal(CHINESE.timeAgo(now - agoMs, now), chinese);
    });
  }
});

describe('describe problem', () => {
  const describeInEnglish = (fields: ConstructorParameters<typeof ApiProblem>[0]) =>
    describeProblem(ENGLISH, new ApiProblem(fields));

  test('known code has its sentence', () =>
    assert.equal(describeInEnglish({ code: 'muted', detail: 'x' }), en.errors.muted));

  test('unknown code has the servers detail', () =>
    assert.equal(describeInEnglish({ code: 'new_one', detail: 'Because.' }), 'Because.'));

  test('without detail it is internal', () =>
    assert.equal(describeInEnglish({ code: 'new_one' }), en.errors.internal));

  test('rejected text names its categories', () =>
    assert.match(
      describeInEnglish({ code: 'content_rejected', errors: [{ category: 'abuse' }] }),
      /\(categories: abuse\)\.$/,
    ));

  test('wait is rounded up to seconds', () =>
    assert.match(
      describeInEnglish({ code: 'rate_limited', retryAfterMs: 1_001 }),
      /try again in 2 s\.$/,
    ));
});
