/** What the reader has selected in a text of the element. */

type ComposedSelection = Selection & {
  getComposedRanges?: (options: { shadowRoots: ShadowRoot[] }) => StaticRange[];
};

interface SelectingRoot {
  readonly getSelection?: () => Selection | null;
}

/** A tap on a button ends a selection just before it is a press. */
const REMEMBERED_MS = 1_000;

let remembered: { node: HTMLElement; text: string; endedAtMs: number } | null = null;

/** The selected range in the tree of `root`; null where nothing is selected. */
export function selectedRange(
  root: ShadowRoot & SelectingRoot,
): { range: StaticRange | Range; text: string } | null {
  // Chromium gives a shadow root a selection of its own; others have one of the document that looks into it.
  const selection: ComposedSelection | null = root.getSelection?.() ?? document.getSelection();
  if (!selection || selection.rangeCount === 0) return null;
  const range =
    !root.getSelection && selection.getComposedRanges
      ? selection.getComposedRanges({ shadowRoots: [root] })[0]
      : selection.getRangeAt(0);
  return range && !range.collapsed ? { range, text: selection.toString().trim() } : null;
}

/** The selected text that is wholly inside `node`; empty where there is none. */
export function selectedTextIn(node: HTMLElement): string {
  const selected = selectedRange(node.getRootNode() as ShadowRoot);
  if (selected) {
    const { range, text } = selected;
    const isInside = node.contains(range.startContainer) && node.contains(range.endContainer);
    return isInside ? text : '';
  }
  const isFresh = performance.now() - (remembered?.endedAtMs ?? 0) < REMEMBERED_MS;
  return remembered?.node === node && isFresh ? remembered.text : '';
}

/** Keeps a selection for a moment after its end; an empty text is the end. */
export function rememberSelection(node: HTMLElement | null, text: string): void {
  if (node && text) remembered = { node, text, endedAtMs: Number.POSITIVE_INFINITY };
  else if (remembered?.endedAtMs === Number.POSITIVE_INFINITY) {
    remembered.endedAtMs = performance.now();
  }
}
