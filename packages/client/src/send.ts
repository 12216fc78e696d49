/** Sends a request, and again while it fails for a reason that passes. */

import { type Answer, dataOf, GailouError } from './error.js';
import { retry } from './retry.js';

const ATTEMPT_TIMEOUT_MS = 20_000;
/** With a backoff of 1 s that doubles: 15 s of waiting in all, unless the server asks for more. */
const MAX_RETRIES = 4;
const MAX_WAIT_MS = 60_000;
/** Too many requests, and a server that cannot be reached or has too much to do. */
const PASSING_STATUSES = [429, 502, 503, 504];

/** `send` makes one request, which must be safe to repeat; `signal` ends all of them. */
export function sendWithRetries<Data>(
  send: (signal: AbortSignal) => Promise<Answer<Data>>,
  signal?: AbortSignal,
): Promise<Data> {
  const attempt = async () => {
    const timeout = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS);
    return dataOf(await send(signal ? AbortSignal.any([signal, timeout]) : timeout));
  };
  return retry(attempt, {
    maxRetries: MAX_RETRIES,
    maxWaitMs: MAX_WAIT_MS,
    waitOf: (error) => (signal?.aborted ? null : waitOf(error)),
    pause: (waitMs) => sleep(waitMs, signal),
  });
}

function waitOf(error: unknown): number | null {
  if (error instanceof GailouError) {
    return PASSING_STATUSES.includes(error.status) ? error.retryAfterMs : null;
  }
  // What `fetch` rejects with where the connection breaks is a TypeError.
  const isWithoutAnswer =
    error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError');
  return isWithoutAnswer ? 0 : null;
}

/** Rejects when the signal is aborted. */
function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
