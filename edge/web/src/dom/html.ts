/** Makes the nodes of what is loaded later. What a page shows first is in `template.ts`. */

type Attribute = string | number | boolean | null | undefined;

type Listeners = {
  readonly [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => unknown;
};

interface Properties {
  readonly on?: Listeners;
  readonly [attribute: string]: Attribute | Listeners;
}

/** What a page can style by `::part`: the name of the part by the tag of a node, or by its first class. */
const PART_NAMES: Readonly<Record<string, string>> = {
  input: 'input',
  textarea: 'input',
  bar: 'toolbar',
  button: 'button',
  author: 'author',
  body: 'body',
};

/**
 * Makes an element. Attributes that are null, undefined or false are left out, and true is an
 * attribute without a value. Children that are null are left out.
 */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: (Node | string | null)[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'object') addListeners(node, value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  const part = PART_NAMES[node.className.split(' ', 1)[0] || tag];
  if (part) node.setAttribute('part', part);
  node.append(...children.filter((child) => child !== null));
  return node;
}

function addListeners(node: HTMLElement, listeners: Listeners): void {
  for (const [type, listener] of Object.entries(listeners)) {
    node.addEventListener(type, listener as EventListener);
  }
}

/** A text that only a screen reader speaks. */
export function screenReaderText(text: string): HTMLSpanElement {
  return h('span', { class: 'sr' }, text);
}

const SVG = 'http://www.w3.org/2000/svg';

/** A decorative icon of one SVG path in a box of 24 by 24. */
export function icon(path: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const shape = document.createElementNS(SVG, 'path');
  shape.setAttribute('d', path);
  svg.append(shape);
  return svg;
}
