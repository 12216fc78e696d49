/** The key that closes what has opened. */

/** Calls `close` on Esc, but not while an input method is composing. */
export function closeOnEscape(node: HTMLElement, close: () => void): void {
  node.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.isComposing) return;
    event.stopPropagation();
    close();
  });
}
