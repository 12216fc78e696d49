/** What the reader has selected in a comment, to begin an answer with. */

interface SelectingRoot {
  readonly getSelection?: () => Selection | null;
}
type ComposedSelection = Selection & {
  getComposedRanges?: (options: { shadowRoots: ShadowRoot[] }) => StaticRange[];
};

/** The selected text that is wholly inside `node`; empty where there is none. */
export function selectedTextIn(node: HTMLElement): string {
  const root = node.getRootNode() as ShadowRoot & SelectingRoot;
  // Chromium gives a shadow root a selection of its own; others have one of the document that looks into it.
  const selection: ComposedSelection | null = root.getSelection?.() ?? document.getSelection();
  if (!selection || selection.rangeCount === 0) return '';
  const range =
    !root.getSelection && selection.getComposedRanges
      ? selection.getComposedRanges({ shadowRoots: [root] })[0]
      : selection.getRangeAt(0);
  if (!range || range.collapsed) return '';
  const isInside = node.contains(range.startContainer) && node.contains(range.endContainer);
  return isInside ? selection.toString().trim() : '';
}
