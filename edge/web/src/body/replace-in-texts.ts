/** In code, and in what is a link already, a text is what it says. */
const LEFT_ALONE = 'a, code, pre';

/** Puts nodes in the place of what matches in the texts of a body; what has none stays as it is. */
export function replaceInTexts(
  body: HTMLElement,
  pattern: RegExp,
  nodeFor: (match: RegExpExecArray) => Node | null,
): void {
  for (const node of textNodesOf(body)) replaceIn(node, pattern, nodeFor);
}

function textNodesOf(body: HTMLElement): Text[] {
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    if (!node.parentElement?.closest(LEFT_ALONE)) found.push(node);
  }
  return found;
}

function replaceIn(
  node: Text,
  pattern: RegExp,
  nodeFor: (match: RegExpExecArray) => Node | null,
): void {
  const parts: (string | Node)[] = [];
  let end = 0;
  for (const match of node.data.matchAll(pattern)) {
    const made = nodeFor(match);
    if (!made) continue;
    parts.push(node.data.slice(end, match.index), made);
    end = match.index + match[0].length;
  }
  if (end > 0) node.replaceWith(...parts, node.data.slice(end));
}
