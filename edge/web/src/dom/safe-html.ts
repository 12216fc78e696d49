/**
 * The second wall against hostile HTML. The server sanitises what it renders; here every node is
 * made anew from an allow-list, so no node of the parsed tree reaches the page.
 */

import { safeUrl } from './safe-url.ts';
import { make } from './template.ts';

const SAFE_TAGS = new Set(
  (
    'a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s ' +
    'mark span strong sub sup ul table thead tbody tr th td'
  ).split(' '),
);

/** Elements that are dropped with everything in them; of all others the content is kept. */
const DROPPED_TAGS = new Set(
  (
    'script style template iframe object embed svg math noscript ' +
    'textarea title xmp noembed noframes plaintext select form'
  ).split(' '),
);

const LINK_PROTOCOLS = ['http:', 'https:', 'mailto:'];

/** The harmless part of `html`. */
export function safeHtml(html: string): DocumentFragment {
  // Nothing in a template loads or runs.
  const { content } = make('template', { innerHTML: html });
  const fragment = new DocumentFragment();
  copySafeNodes(content, fragment);
  return fragment;
}

function copySafeNodes(from: ParentNode & Node, to: ParentNode): void {
  for (const node of from.childNodes) {
    if (node instanceof Text) to.append(node.data);
    else if (node instanceof Element) copySafeElement(node, to);
  }
}

function copySafeElement(element: Element, to: ParentNode): void {
  const tag = element.localName;
  if (DROPPED_TAGS.has(tag)) return;
  if (!SAFE_TAGS.has(tag)) {
    copySafeNodes(element, to);
    return;
  }
  const copy = document.createElement(tag);
  if (copy instanceof HTMLAnchorElement) copyLink(element, copy);
  const start = element.getAttribute('start') ?? '';
  if (tag === 'ol' && /^\d{1,6}$/.test(start)) copy.setAttribute('start', start);
  // Each paragraph has a direction of its own; a wide one can be scrolled by keys.
  if (/^(p|li|h\d|t[dh]|blockquote)$/.test(tag)) copy.dir = 'auto';
  if (tag === 'pre') copy.tabIndex = 0;
  copySafeNodes(element, copy);
  to.append(copy);
}

function copyLink(from: Element, to: HTMLAnchorElement): void {
  const written = from.getAttribute('href');
  const href = written ? safeUrl(written, LINK_PROTOCOLS) : null;
  if (href) Object.assign(to, { href, rel: 'nofollow ugc noopener noreferrer', target: '_blank' });
}
