/**
 * Nodes of what a page shows first: pieces of HTML that stand in the source, copied and then filled in. What others wrote is
 * set as text, or goes through `safe-html.ts`.
 */

/** Makes copies of the one element in `html`. */
export function template<Root extends HTMLElement>(html: string): () => Root {
  const { content } = make('template', { innerHTML: html });
  return () => document.importNode(content, true).firstElementChild as Root;
}

/** The elements in a copy of a template, by the first of their classes. The caller knows its template. */
export const partsOf = <Parts>(node: HTMLElement): Parts =>
  Object.fromEntries(
    [...node.querySelectorAll('[class]')].map((each) => [each.classList[0], each]),
  ) as Parts;

export type Properties<Tag extends keyof HTMLElementTagNameMap> = Partial<
  Omit<HTMLElementTagNameMap[Tag], 'part'>
> & { readonly part?: string };

/** An element with these properties. */
export const make = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties<Tag>,
): HTMLElementTagNameMap[Tag] => Object.assign(document.createElement(tag), properties);

/** A decorative icon of one SVG path in a box of 24 by 24. */
export const iconHtml = (path: string): string =>
  `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${path}"></path></svg>`;

let lastId = 0;

/** An id unique in the page, for `aria-labelledby` and `for`. */
export function uniqueId(prefix: string): string {
  lastId += 1;
  return `${prefix}-${lastId}`;
}
