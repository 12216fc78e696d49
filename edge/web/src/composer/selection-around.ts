import { selectedTextIn } from '../dom/selection.ts';

/** What the reader has selected in the comment that a form opens in. */
export function selectionAround(place: HTMLElement): string {
  // A quoted floor has a text of its own.
  const floor = place.closest('.fl');
  const bodies = place.closest('article')?.querySelectorAll<HTMLElement>('.body') ?? [];
  const body = [...bodies].find((each) => each.closest('.fl') === floor);
  return body ? selectedTextIn(body) : '';
}
