/** A dialog over the page. Escape and its button close it; the focus goes back to where it was. */

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useConsole } from './parts.tsx';

export function Dialog({
  title,
  onClose,
  onKey,
  children,
}: {
  title: string;
  onClose: () => void;
  /** Keys that are not typed into a field. */
  onKey?: (key: string, close: () => void) => void;
  /** What it shows; `close` closes it. */
  children: (close: () => void) => ComponentChildren;
}) {
  const { text } = useConsole();
  const host = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    host.current?.showModal();
    host.current?.querySelector<HTMLElement>('.dialog-body button')?.focus();
  }, []);
  const close = () => host.current?.close();
  const press = (event: KeyboardEvent) => {
    const isTyping = (event.target as Element).closest('input, textarea, select');
    if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) onKey?.(event.key, close);
  };
  return (
    <dialog ref={host} aria-labelledby={titleId} onClose={onClose} onKeyDown={press}>
      <div class="bar">
        <h2 id={titleId} dir="auto">
          {title}
        </h2>
        <button type="button" onClick={close}>
          {text.close}
        </button>
      </div>
      <div class="dialog-body">{children(close)}</div>
    </dialog>
  );
}
