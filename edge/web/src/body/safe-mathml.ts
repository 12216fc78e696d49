/** The second wall against hostile formulas: every node is made anew from an allow-list. */

const MATHML = 'http://www.w3.org/1998/Math/MathML';

/** What draws something. A link, a picture and other markup in a formula are not among them. */
const SAFE_TAGS = new Set(
  (
    'math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow mspace ' +
    'msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics'
  ).split(' '),
);

const SAFE_ATTRIBUTES = new Set(
  (
    'accent accentunder class columnalign columnspacing columnspan depth display displaystyle fence form ' +
    'height largeop linebreak linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize ' +
    'minsize movablelimits notation rowspacing rowspan rspace scriptlevel separator stretchy symmetric ' +
    'voffset width'
  ).split(' '),
);

/** Sizes, lines and colours; nothing that takes a node out of its place. */
const SAFE_STYLE =
  /^(?:(?:padding|margin|border|font|math)-.+|color|background-color|display|height|text-align|width)$/;

/** The formula in `markup`; null where something else is in it, too. */
export function safeMathML(markup: string): MathMLElement | null {
  const template = document.createElement('template');
  // Nothing in a template loads or runs.
  template.innerHTML = markup;
  const { childNodes } = template.content;
  const [math] = childNodes;
  return childNodes.length === 1 && math instanceof Element ? copyOf(math) : null;
}

/** Null where it, or something in it, is not safe. */
function copyOf(element: Element): MathMLElement | null {
  const tag = element.localName;
  if (element.namespaceURI !== MATHML || !SAFE_TAGS.has(tag)) return null;
  const copy = document.createElementNS(MATHML, tag) as MathMLElement;
  copyAttributes(element, copy);
  for (const node of element.childNodes) {
    const child = node instanceof Element ? copyOf(node) : node.nodeValue;
    if (child === null) return null;
    copy.append(child);
  }
  return copy;
}

function copyAttributes(from: Element, to: MathMLElement): void {
  for (const { name, value } of from.attributes) {
    if (SAFE_ATTRIBUTES.has(name)) to.setAttribute(name, value);
  }
  // Set so, styles are allowed also by a page whose policy forbids them in its markup.
  to.style.cssText = from.getAttribute('style') ?? '';
  for (const name of [...to.style]) {
    if (!SAFE_STYLE.test(name)) to.style.removeProperty(name);
  }
  if (to.style.length === 0) to.removeAttribute('style');
}
