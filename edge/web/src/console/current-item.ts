/** Which item of a list is the current one. Pure. */

interface Identified {
  id: string;
}

/** The item so many places from the chosen one, or from the first where none is; the first or the last one at an end. */
export function itemAt<Item extends Identified>(
  items: readonly Item[],
  chosen: string | null,
  places: number,
): Item | null {
  const from = Math.max(
    0,
    items.findIndex(({ id }) => id === chosen),
  );
  return items[Math.min(Math.max(from + places, 0), items.length - 1)] ?? null;
}

/** The id of the item that follows one that leaves the list; of the one before it at the end. */
export function idAfter(items: readonly Identified[], leaving: string): string | null {
  const place = items.findIndex(({ id }) => id === leaving);
  if (place < 0) return null;
  return (items[place + 1] ?? items[place - 1])?.id ?? null;
}
