import { safeUrl } from '../dom/safe-url.ts';

/** Where the page has emoji and stickers of its own for the comments that a node is in; null where it has none. */
export function packsAddress(node: Node): string | null {
  const root = node.getRootNode();
  const named = root instanceof ShadowRoot && root.host.getAttribute('emoji');
  return named ? safeUrl(named) : null;
}
