/** The item of a list that keys act on. */

import { useRef, useState } from 'preact/hooks';
import { itemAt } from './current-item.ts';

/** The chosen item, else the first one; the list needs `list` as its `ref`, and each item its id as `data-id`. */
export function useCurrent<Item extends { id: string }>(items: readonly Item[]) {
  const [chosen, choose] = useState<string | null>(null);
  const list = useRef<HTMLOListElement>(null);
  const current = itemAt(items, chosen, 0);
  /** Goes so many places on, and takes the focus there. */
  const step = (places: number) => {
    const next = itemAt(items, chosen, places);
    if (!next) return;
    choose(next.id);
    const item = list.current?.querySelector<HTMLElement>(`[data-id="${next.id}"]`);
    item?.focus({ preventScroll: true });
    item?.scrollIntoView({ block: 'nearest' });
  };
  return { current, choose, step, list };
}
