/** Keys that act on what is shown, wherever the focus is but in a field or a dialog. */

import { useEffect, useRef } from 'preact/hooks';

/** Calls `act` with a key in lower case; it says whether it took the key. */
export function useKeys(act: (key: string, isShifted: boolean) => boolean): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as Element | null;
      const isTyping = target?.closest('input:not([type="checkbox"]), textarea, select');
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
      if (latest.current(event.key.toLowerCase(), event.shiftKey)) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
