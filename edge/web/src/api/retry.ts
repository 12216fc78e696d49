/** Repeats a write whose outcome is unknown. */

import { retry } from '../../../../packages/client/src/retry.ts';
import { sleep } from '../util/time.ts';
import { ApiProblem } from './problem.ts';
import { isOutcomeUnknown } from './problem-details.ts';

export { newIdempotencyKey } from '../../../../packages/client/src/idempotency-key.ts';

export const MAX_RETRIES = 3;
/** A longer wait is the reader's decision. */
const MAX_RETRY_WAIT_MS = 10_000;

/**
 * Runs `attempt`, which must be safe to repeat, until it succeeds, fails with a known outcome, or
 * has been repeated `MAX_RETRIES` times. `onWait` gets the length of each pause and the number of
 * the retry after it.
 */
export function retryWhileOutcomeUnknown<Result>(
  attempt: () => Promise<Result>,
  onWait: (waitMs: number, retry: number) => void,
  pause = sleep,
): Promise<Result> {
  return retry(attempt, {
    maxRetries: MAX_RETRIES,
    maxWaitMs: MAX_RETRY_WAIT_MS,
    waitOf: (problem) =>
      problem instanceof ApiProblem && isOutcomeUnknown(problem) ? problem.retryAfterMs : null,
    pause: (waitMs, number) => {
      onWait(waitMs, number);
      return pause(waitMs);
    },
  });
}
