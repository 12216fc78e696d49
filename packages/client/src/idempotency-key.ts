/** For the header `Idempotency-Key`: the same key for each repetition of one `POST` makes it one comment. */
export function newIdempotencyKey(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  // A page without HTTPS has no `randomUUID`.
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
