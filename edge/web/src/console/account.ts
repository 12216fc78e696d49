/** The account of this installation that the browser is signed in to: it has a cookie that no script reads. */

/** So long before a token ends another one is asked for. */
const RENEW_BEFORE_MS = 60_000;
/** The longest time that a browser waits: a longer one would be over at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;
const LOCK_NAME = 'gailou.refresh';

/** Another token of the account; null where the browser is signed in to none, or the server does not say. */
export async function refreshToken(send: typeof fetch = fetch): Promise<string | null> {
  // A refresh token works once: tabs take turns, where the browser lets them.
  const ask = async (): Promise<string | null> => {
    try {
      const answer = await send('/v1/auth/refresh', { method: 'POST', credentials: 'same-origin' });
      // A refusal is read too: a body that is not keeps its connection.
      const body: unknown = await answer.json();
      const token = (body as { token?: unknown } | null)?.token;
      return answer.ok && typeof token === 'string' ? token : null;
    } catch {
      return null;
    }
  };
  const locks = globalThis.navigator?.locks;
  return locks ? await locks.request(LOCK_NAME, ask) : await ask();
}

/** Signs the browser out. Where the server does not answer, the cookie stays. */
export async function endSession(send: typeof fetch = fetch): Promise<void> {
  try {
    await send('/v1/auth/session', { method: 'DELETE', credentials: 'same-origin' });
  } catch {
    // The next visit is signed in still, and says so.
  }
}

/** How long to wait before another token is asked for. */
export function renewalDelay(expiresAtMs: number, nowMs = Date.now()): number {
  return Math.min(MAX_DELAY_MS, Math.max(0, expiresAtMs - RENEW_BEFORE_MS - nowMs));
}
