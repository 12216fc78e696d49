/** The header `Retry-After`: seconds or an HTTP date; 0 for anything else and for a date in the past. */
export function parseRetryAfterMs(value: string | null, nowMs = Date.now()): number {
  if (!value) return 0;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
}
