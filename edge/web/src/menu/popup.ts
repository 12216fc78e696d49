/**
 * A box over the page beside what opened it, one at a time. Esc closes it and gives the focus back; a press elsewhere, or a
 * focus that goes elsewhere, closes it too.
 */

/** Between the box and its opener, and at least between the box and the edges of the window. */
const GAP_PX = 4;
const MARGIN_PX = 8;

export interface Popup {
  /** A box that has grown may have its place elsewhere. */
  place(): void;
  close(): void;
}

let opened: { popup: Popup; opener: HTMLElement } | null = null;

/** Shows `node`; null when that opener's box was open, and is closed by this. */
export function openPopup(
  node: HTMLElement,
  opener: HTMLElement,
  section: HTMLElement,
): Popup | null {
  const before = opened;
  before?.popup.close();
  if (before?.opener === opener) return null;
  const ended = new AbortController();
  const { signal } = ended;
  const popup = {
    place: () => placeBeside(node, opener),
    close: () => {
      if (signal.aborted) return;
      ended.abort();
      opened = null;
      const hadFocus = node.matches(':focus-within');
      node.remove();
      opener.setAttribute('aria-expanded', 'false');
      if (hadFocus) opener.focus();
    },
  };
  opened = { popup, opener };
  node.setAttribute('popover', 'manual');
  section.append(node);
  node.showPopover();
  opener.setAttribute('aria-expanded', 'true');
  popup.place();
  closeOn(popup.close, { node, opener, signal });
  return popup;
}

function closeOn(
  close: () => void,
  { node, opener, signal }: { node: HTMLElement; opener: HTMLElement; signal: AbortSignal },
): void {
  const options = { capture: true, signal };
  document.addEventListener(
    'keydown',
    (event) => {
      // The thread may be another one by now.
      if (event.key !== 'Escape' || !node.isConnected) return;
      event.preventDefault();
      event.stopPropagation();
      close();
    },
    options,
  );
  document.addEventListener(
    'pointerdown',
    (event) => {
      const path = event.composedPath();
      if (!path.includes(node) && !path.includes(opener)) close();
    },
    options,
  );
  // In a box of the page that scrolls, it would stay where it is.
  document.addEventListener('scroll', ({ target }) => target !== document && close(), options);
  node.addEventListener('focusout', ({ relatedTarget }) => {
    const isElsewhere = relatedTarget !== opener && !node.contains(relatedTarget as Node);
    if (relatedTarget && isElsewhere) close();
  });
  // Letters are keys of the comments, not of the box.
  node.addEventListener('keydown', (event) => event.stopPropagation());
}

/** Below the opener, or above it where there is room only there; inside the window. */
function placeBeside(node: HTMLElement, opener: HTMLElement): void {
  const { clientHeight, clientWidth } = document.documentElement;
  const anchor = opener.getBoundingClientRect();
  const { width, height } = node.getBoundingClientRect();
  const needed = height + GAP_PX + MARGIN_PX;
  const isAbove = clientHeight - anchor.bottom < needed && anchor.top >= needed;
  const top = isAbove ? anchor.top - height - GAP_PX : anchor.bottom + GAP_PX;
  // An opener at the end of a line has its box before it.
  const isAtEnd = anchor.left + anchor.right > clientWidth;
  const left = isAtEnd ? anchor.right - width : anchor.left;
  node.style.top = `${within(clientHeight - height, top) + scrollY}px`;
  node.style.left = `${within(clientWidth - width, left) + scrollX}px`;
}

/** `most` is where the box would touch the other edge of the window. */
const within = (most: number, wanted: number) =>
  Math.max(MARGIN_PX, Math.min(wanted, most - MARGIN_PX));
