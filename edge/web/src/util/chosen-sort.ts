/** The order of comments that a reader has chosen on this site. It is asked for before the element is there, so it is small. */

const KEY = 'gailou:sort';

/** Empty when none was chosen, or where the browser blocks storage. */
export function chosenSort(): string {
  try {
    return localStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}

export function keepChosenSort(sort: string): void {
  try {
    localStorage.setItem(KEY, sort);
  } catch {
    // The next page begins with the usual order.
  }
}
