/** Repeats what failed for a reason that passes. What such a reason is, the caller says. */

const FIRST_BACKOFF_MS = 1_000;
/** Each wait is up to this part shorter or longer, so that clients do not return at the same moment. */
const JITTER = 0.2;

export interface RetryRules {
  maxRetries: number;
  /** What needs a longer wait is not repeated. */
  maxWaitMs: number;
  /** How long this failure asks to wait, 0 when it asks nothing; null when it does not pass. */
  waitOf: (error: unknown) => number | null;
  /** Waits before this retry, the first of which is 1. */
  pause: (waitMs: number, retry: number) => Promise<void>;
}

/** Runs `attempt`, which must be safe to repeat, until it succeeds, or fails with what the rules do not repeat. */
export async function retry<Result>(
  attempt: () => Promise<Result>,
  { maxRetries, maxWaitMs, waitOf, pause }: RetryRules,
): Promise<Result> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const askedMs = waitOf(error);
      if (askedMs === null || retries >= maxRetries) throw error;
      const waitMs = Math.max(askedMs, backoffMs(retries));
      if (waitMs > maxWaitMs) throw error;
      await pause(waitMs, retries + 1);
    }
  }
}

const backoffMs = (retries: number): number =>
  FIRST_BACKOFF_MS * 2 ** retries * (1 - JITTER + 2 * JITTER * Math.random());
