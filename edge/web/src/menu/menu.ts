/** A menu as WAI-ARIA describes it: arrow keys go round, Home and End to its ends, a letter to what begins with it. */

import { h } from '../dom/html.ts';
import { sleep } from '../util/time.ts';
import { openPopup } from './popup.ts';

const DONE_SHOWN_MS = 1_000;

export interface MenuItem {
  readonly label: string;
  /** Nothing can be done. */
  readonly isDisabled?: boolean;
  /** A link, in the place of an act. */
  readonly href?: string;
  readonly act?: () => unknown;
  /** What the item says for a moment where `act` has resolved to true, before the menu closes. */
  readonly done?: string;
}

/** Items that belong together; `label` is for screen readers. */
export interface MenuGroup {
  readonly label?: string;
  readonly items: readonly MenuItem[];
}

export function openMenu(
  groups: readonly MenuGroup[],
  label: string,
  opener: HTMLElement,
  section: HTMLElement,
): void {
  const node = h('div', { class: 'menu', part: 'menu', role: 'menu', 'aria-label': label });
  const popup = openPopup(node, opener, section);
  if (!popup) return;
  const drawn = groups.flatMap((group, place) => [
    ...(place > 0 ? [h('hr', { role: 'separator' })] : []),
    h(
      'div',
      { role: group.label ? 'group' : 'none', 'aria-label': group.label },
      ...group.items.map((item) => drawItem(item, popup.close)),
    ),
  ]);
  node.append(...drawn);
  popup.place();
  node.addEventListener('keydown', (event) => onKey(event, node, popup.close));
  itemsOf(node)[0]?.focus();
}

const itemsOf = (node: HTMLElement) => [...node.querySelectorAll<HTMLElement>('[role="menuitem"]')];

function drawItem(
  { label, isDisabled, href, act, done }: MenuItem,
  close: () => void,
): HTMLElement {
  const properties = {
    role: 'menuitem',
    tabindex: -1,
    'aria-disabled': isDisabled ? 'true' : null,
  };
  if (href) {
    const link = { href, target: '_blank', rel: 'noopener' };
    return h('a', { ...properties, ...link, on: { click: close } }, label);
  }
  const choose = async () => {
    if (isDisabled) return;
    if (done && (await act?.())) {
      item.textContent = done;
      await sleep(DONE_SHOWN_MS);
    }
    close();
    if (!done) act?.();
  };
  const item = h('button', { type: 'button', ...properties, on: { click: choose } }, label);
  return item;
}

function onKey(event: KeyboardEvent, node: HTMLElement, close: () => void): void {
  const { key } = event;
  const items = itemsOf(node);
  const at = items.findIndex((item) => item.matches(':focus'));
  if (key === 'Tab') {
    // From the opener, to which the focus goes back, the browser goes on.
    close();
    return;
  }
  const wanted = itemFor(key, items, at);
  if (!wanted) return;
  event.preventDefault();
  wanted.focus();
}

function itemFor(key: string, items: HTMLElement[], at: number): HTMLElement | undefined {
  switch (key) {
    case 'ArrowDown':
      return items[(at + 1) % items.length];
    case 'ArrowUp':
      return items.at(at > 0 ? at - 1 : -1);
    case 'Home':
      return items[0];
    case 'End':
      return items.at(-1);
    default: {
      if (key.length !== 1 || key === ' ') return undefined;
      const letter = key.toLocaleLowerCase();
      const inOrder = [...items.slice(at + 1), ...items.slice(0, at + 1)];
      return inOrder.find((item) => item.textContent?.toLocaleLowerCase().startsWith(letter));
    }
  }
}
