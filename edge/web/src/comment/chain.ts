/** A conversation as a building: the root is the ground floor, and each answer is one floor up. */

import { h, screenReaderText } from '../dom/html.ts';
import { authorNameOf, type ShownComment } from '../model/shown-comment.ts';
import type { Locale } from '../text/locale.ts';
import { bodyOf, timeLink } from './parts.ts';

/** Floors shown below the collapsed middle. */
const FLOORS_BELOW_GAP = 3;
/** Floors shown above the collapsed middle. */
const FLOORS_ABOVE_GAP = 6;
/** Floors that one press on the collapsed middle shows. */
const FLOORS_PER_PRESS = 100;
/** Each floor is 3 px narrower on each side than the one above, down to six floors below the top. */
const INSET_STEP_PX = 3;
const MAX_INSET_STEPS = 6;

type MakeFloor = () => HTMLLIElement;

/** `comments` from the root up. The middle of a tall building is collapsed. */
export function chainOf(
  comments: ShownComment[],
  locale: Locale,
  server: string,
  { markLast = true } = {},
): HTMLOListElement {
  const list = h('ol', { class: 'chain', 'aria-label': locale.text.buildingLabel });
  const last = comments.length - 1;
  const floors = comments.map((comment, index) => (): HTMLLIElement => {
    const node = chainFloor(comment, index + 1, markLast && index === last, locale, server);
    const inset = Math.min(last - index, MAX_INSET_STEPS) * INSET_STEP_PX;
    node.style.setProperty('--inset', `${inset}px`);
    return node;
  });
  if (floors.length <= FLOORS_BELOW_GAP + FLOORS_ABOVE_GAP + 1) {
    list.append(...makeAll(floors));
    return list;
  }
  list.append(
    ...makeAll(floors.slice(0, FLOORS_BELOW_GAP)),
    chainGap(floors.slice(FLOORS_BELOW_GAP, -FLOORS_ABOVE_GAP), locale),
    ...makeAll(floors.slice(-FLOORS_ABOVE_GAP)),
  );
  return list;
}

const makeAll = (floors: MakeFloor[]): HTMLLIElement[] => floors.map((make) => make());

function chainFloor(
  comment: ShownComment,
  floor: number,
  isMarked: boolean,
  locale: Locale,
  server: string,
): HTMLLIElement {
  const { text } = locale;
  return h(
    'li',
    { class: isMarked ? 'me' : null, 'aria-current': isMarked ? 'true' : null },
    h(
      'div',
      { class: 'head' },
      h('span', { class: 'author' }, authorNameOf(comment, locale)),
      timeLink(comment, locale),
      h(
        'span',
        { class: 'storey' },
        screenReaderText(text.storeyLabel(floor)),
        h('span', { 'aria-hidden': 'true' }, text.storey(floor)),
      ),
    ),
    bodyOf(comment, locale, server),
  );
}

/** The collapsed middle. A press shows the next floors and moves the focus to the first of them. */
function chainGap(floors: MakeFloor[], locale: Locale): HTMLLIElement {
  const gap = h('li', { class: 'middle' });
  const button = h('button', { type: 'button', class: 'link', on: { click: showMore } });
  function showLabel(): void {
    button.textContent = locale.text.moreFloors(floors.length);
  }
  function showMore(): void {
    const nodes = makeAll(floors.splice(0, FLOORS_PER_PRESS));
    gap.before(...nodes);
    nodes[0]?.querySelector('a')?.focus();
    showLabel();
    if (floors.length === 0) gap.remove();
  }
  showLabel();
  gap.append(button);
  return gap;
}
