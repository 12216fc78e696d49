/**
 * The building that a comment stands on: what it answers, down to the ground floor, as frames inside
 * each other. Where a mode shows none, the line "replying to …" opens it in place.
 */

import { type Frame, type FrameRow, framesOf, isGap, rowsOf } from '../building/frames.ts';
import { h } from '../dom/html.ts';
import { isTombstone, type QuotedComment } from '../model/shown-comment.ts';
import type { CommentHost, OwningComment } from './host.ts';
import { QuotedFloorView } from './quoted-floor.ts';

/** Floors that one press on the gap shows. */
const FLOORS_PER_PRESS = 20;

export class Building {
  /** The frames; empty while none are drawn. */
  readonly node: HTMLDivElement;
  /** Opens the frames where they are not drawn by themselves. */
  readonly toggle: HTMLButtonElement;
  readonly #thread: CommentHost;
  readonly #view: OwningComment;
  readonly #floors = new Map<string, QuotedFloorView>();
  #isDrawnByItself = false;
  #isOpened = false;
  /** Floors beside those that are drawn at first. */
  #openedFloors = 0;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    this.node = h('div', { class: 'bld', role: 'list', hidden: true });
    this.toggle = h('button', {
      type: 'button',
      class: 'link',
      'aria-expanded': 'false',
      on: { click: () => this.#toggle() },
    });
    this.toggle.textContent = thread.text.showFloors(this.#chain.length);
  }

  get isShown(): boolean {
    return (this.#isDrawnByItself || this.#isOpened) && !isTombstone(this.#view.comment);
  }

  /**
   * Whether the frames are drawn without being asked for. A list brings the floors of its own
   * comments; those of one that stands alone are fetched.
   */
  async drawByItself(isDrawn: boolean, { isAlone = false } = {}): Promise<void> {
    this.#isDrawnByItself = isDrawn;
    this.toggle.hidden = isDrawn;
    this.render();
    if (isDrawn && isAlone && (await this.#load(this.#chain.slice(0, -1)))) this.render();
  }

  render(): void {
    const { comments, text } = this.#thread;
    const chain = this.#chain;
    this.node.hidden = !this.isShown;
    if (!this.isShown) {
      this.node.replaceChildren();
      return;
    }
    this.node.setAttribute('aria-label', text.conversation(chain.length));
    const find = (id: string) => comments.floorOf(id);
    const frame = framesOf(rowsOf(chain, find, this.#openedFloors));
    this.node.replaceChildren(...(frame ? [this.#draw(frame, 1)] : []));
  }

  /** Shows what is new about a floor, if it is drawn. */
  updateFloor(id: string): void {
    const floor = this.#thread.comments.floorOf(id);
    if (floor) this.#floors.get(id)?.update(floor);
  }

  /** The ids from the ground floor to the comment. */
  get #chain(): string[] {
    const { id, parent_id, path } = this.#view.comment;
    // In a flat list a path is the comment alone.
    return path.length > 1 || !parent_id ? path : [parent_id, id];
  }

  #draw(frame: Frame<QuotedComment>, depth: number): HTMLElement {
    const node = h(
      'div',
      { class: 'fr', role: 'none' },
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
    this.#thread.frame.announce(this.#thread.text.floorsShown(next.length));
  }

  async #toggle(): Promise<void> {
    const isOpened = !this.#isOpened;
    if (isOpened && !(await this.#load(this.#chain.slice(0, -1)))) return;
    this.#isOpened = isOpened;
    this.toggle.setAttribute('aria-expanded', String(isOpened));
    this.render();
  }

  /** Fetches floors that are not known yet; false when that failed. */
  async #load(ids: string[]): Promise<boolean> {
    const { api, comments } = this.#thread;
    const { id, path } = this.#view.comment;
    if (ids.every((each) => comments.floorOf(each))) return true;
    try {
      if (path.length > 1) comments.addFloors((await api.ancestors(id)).data.data);
      else for (const each of ids) comments.addFloors([(await api.comment(each)).data]);
      return true;
    } catch (problem) {
      this.#thread.report(problem, this.#view);
      return false;
    }
  }
}
