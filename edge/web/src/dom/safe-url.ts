/** Decides which addresses written by others become links or pictures. */

const WEB_PROTOCOLS: readonly string[] = ['http:', 'https:'];

/** The absolute address, or null when it has another protocol or cannot be parsed. */
export function safeUrl(
  text: string,
  protocols = WEB_PROTOCOLS,
  base = location.href,
): string | null {
  try {
    const url = new URL(text, base);
    return protocols.includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
