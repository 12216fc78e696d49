/** The columns of a table: where their texts stand. `safe-html.ts` takes no such attribute over. */

const ALIGNMENTS: readonly (string | null)[] = ['left', 'center', 'right'];

/** `html` is what `body` was made of. */
export function alignColumns(body: HTMLElement, html: string): void {
  if (!html.includes(' align=')) return;
  const parsed = new DOMParser().parseFromString(html, 'text/html');
  const written = [...parsed.querySelectorAll('th, td')];
  for (const [index, cell] of [...body.querySelectorAll('th, td')].entries()) {
    const align = written[index]?.getAttribute('align') ?? null;
    if (align && ALIGNMENTS.includes(align)) cell.setAttribute('align', align);
  }
}
