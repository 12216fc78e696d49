/** Repeats a write whose outcome is unknown. */

import { sleep } from '../util/time.ts';
import { ApiProblem } from './problem.ts';
import { isOutcomeUnknown } from './problem-details.ts';

export const MAX_RETRIES = 3;
/** A longer wait is the reader's decision. */
const MAX_RETRY_WAIT_MS = 10_000;
const FIRST_BACKOFF_MS = 1_000;

/**
 * Runs `attempt`, which must be safe to repeat, until it succeeds, fails with a known outcome, or
 * has been repeated `MAX_RETRIES` times. `onWait` gets the length of each pause and the number of
 * the retry after it.
 */
export async function retryWhileOutcomeUnknown<Result>(
  attempt: () => Promise<Result>,
  onWait: (waitMs: number, retry: number) => void,
  pause = sleep,
): Promise<Result> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await attempt();
    } catch (problem) {
      if (!(problem instanceof ApiProblem) || !isOutcomeUnknown(problem)) throw problem;
      const backoffMs = FIRST_BACKOFF_MS * 2 ** retries * (0.8 + 0.4 * Math.random());
      const waitMs = Math.max(problem.retryAfterMs, backoffMs);
      if (retries >= MAX_RETRIES || waitMs > MAX_RETRY_WAIT_MS) throw problem;
      onWait(waitMs, retries + 1);
      await pause(waitMs);
    }
  }
}

/** A key that makes one `POST` safe to repeat. */
export function newIdempotencyKey(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  // A page without HTTPS has no `randomUUID`.
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
