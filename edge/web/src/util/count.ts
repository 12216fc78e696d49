/** Counts text as the server does. */

/** Unicode code points: an emoji is one, though JavaScript stores it as two. */
export function countCodePoints(text: string): number {
  return [...text].length;
}
