/** The frames of a building. They are loaded when some are drawn. */

import '../text/later.ts';
import { fetchAncestors, fetchComment } from '../api/place-calls.ts';
import { type Frame, type FrameRow, framesOf, isGap, rowsOf } from '../building/frames.ts';
import { announce } from '../dom/announce.ts';
import { h } from '../dom/html.ts';
import { keepTabStop } from '../dom/tab-stop.ts';
import type { QuotedComment } from '../model/shown-comment.ts';
import css from '../style/building.css';
import { addStyles } from '../style/style-sheet.ts';
import type { CommentHost, OwningComment } from './host.ts';
import { QuotedFloorView } from './quoted-floor.ts';

/** Floors that one press on the gap shows. */
const FLOORS_PER_PRESS = 20;

addStyles(css);

export class FramesView {
  readonly node = h('div', { class: 'bld', role: 'list' });
  readonly #thread: CommentHost;
  /** The ids from the ground floor to the comment. */
  readonly #chain: readonly string[];
  /** Fetches floors that are not known yet; false when that failed. */
  readonly #load: (ids: string[]) => Promise<boolean>;
  readonly #floors = new Map<string, QuotedFloorView>();
  /** Floors beside those that are drawn at first. */
  #openedFloors = 0;

  constructor(
    thread: CommentHost,
    chain: readonly string[],
    load: (ids: string[]) => Promise<boolean>,
  ) {
    this.#thread = thread;
    this.#chain = chain;
    this.#load = load;
    this.node.setAttribute('aria-label', thread.text.conversation(chain.length));
  }

  render(): void {
    const find = (id: string) => this.#thread.comments.floorOf(id);
    const frame = framesOf(rowsOf(this.#chain, find, this.#openedFloors));
    this.node.replaceChildren(...(frame ? [this.#draw(frame, 1)] : []));
    keepTabStop(this.node);
  }

  /** Shows what is new about a floor, if it is drawn. */
  updateFloor(id: string): void {
    const floor = this.#thread.comments.floorOf(id);
    if (floor) this.#floors.get(id)?.update(floor);
    keepTabStop(this.node);
  }

  #draw(frame: Frame<QuotedComment>, depth: number): HTMLElement {
    const node = h(
      'div',
      { class: 'fr', part: 'frame', role: 'none' },
      frame.inside && this.#draw(frame.inside, depth + 1),
      ...frame.rows.map((row) => this.#drawRow(row)),
    );
    node.style.setProperty('--depth', String(depth));
    return node;
  }

  #drawRow(row: FrameRow<QuotedComment>): HTMLElement {
    if (isGap(row)) return this.#drawGap(row.hidden);
    const { floor, number } = row;
    const known = this.#floors.get(floor.id);
    known?.update(floor);
    const path = this.#chain.slice(0, number);
    const view = known ?? new QuotedFloorView(this.#thread, floor, path);
    this.#floors.set(floor.id, view);
    return view.node;
  }

  #drawGap(hidden: string[]): HTMLElement {
    const label = this.#thread.text.gap(hidden.length, FLOORS_PER_PRESS);
    const button = h(
      'button',
      { type: 'button', on: { click: () => this.#openGap(hidden) } },
      h('span', {}, label),
    );
    return h('div', { class: 'gap', role: 'listitem' }, button);
  }

  /** Shows the next floors, and moves the focus to the first of them. */
  async #openGap(hidden: string[]): Promise<void> {
    const next = hidden.slice(0, FLOORS_PER_PRESS);
    if (!(await this.#load(next))) return;
    this.#openedFloors += FLOORS_PER_PRESS;
    this.render();
    const first = next.find((id) => this.#floors.has(id));
    if (first) this.#floors.get(first)?.focus();
    announce(this.#thread.frame, this.#thread.text.floorsShown(next.length));
  }
}

/** Fetches floors that the comment stands on, and where they say it the whole chain; null when that failed. */
export async function loadFloors(
  thread: CommentHost,
  view: OwningComment,
  ids: string[],
): Promise<{ chain: string[] | undefined } | null> {
  const { api, comments } = thread;
  const { id, root_id } = view.comment;
  try {
    // In a flat list each comment is a root of its own.
    if (root_id === id) {
      for (const each of ids) comments.addFloors([(await fetchComment(api, each)).data]);
      return { chain: undefined };
    }
    const { data } = (await fetchAncestors(api, id)).data;
    comments.addFloors(data);
    return { chain: data.at(-1)?.path };
  } catch (problem) {
    thread.report(problem, view);
    return null;
  }
}
