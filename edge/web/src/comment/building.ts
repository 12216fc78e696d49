/**
 * The building that a comment stands on: what it answers, down to the ground floor, as frames inside
 * each other. Where a mode shows none, the line "replying to …" opens it in place.
 */

import { h } from '../dom/html.ts';
import { isTombstone } from '../model/shown-comment.ts';
import type { FramesView } from './frames-view.ts';
import type { CommentHost, OwningComment } from './host.ts';

let frames: typeof import('./frames-view.ts') | null = null;

/** Loads what draws frames; a list that has some waits for it, so that nothing moves. */
export async function loadFrames(): Promise<boolean> {
  frames ??= await import('./frames-view.ts').catch(() => null);
  return frames !== null;
}

export class Building {
  readonly node = h('div', { hidden: true });
  /** Opens the frames where they are not drawn by themselves. */
  readonly toggle: HTMLButtonElement;
  readonly #thread: CommentHost;
  readonly #view: OwningComment;
  #frames: FramesView | null = null;
  #isDrawnByItself = false;
  #isOpened = false;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    this.toggle = h(
      'button',
      {
        type: 'button',
        class: 'link',
        'aria-expanded': 'false',
        on: { click: () => this.#toggle() },
      },
      thread.text.showFloors(this.#chain.length),
    );
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
    const { comment } = this.#view;
    const isShown = (this.#isDrawnByItself || this.#isOpened) && !isTombstone(comment);
    this.node.hidden = !isShown;
    if (!isShown) return;
    if (!frames) {
      loadFrames().then((isLoaded) => isLoaded && this.render());
      return;
    }
    this.#frames ??= new frames.FramesView(this.#thread, this.#chain, (ids) => this.#load(ids));
    this.node.replaceChildren(this.#frames.node);
    this.#frames.render();
  }

  /** Shows what is new about a floor, if it is drawn. */
  updateFloor(id: string): void {
    this.#frames?.updateFloor(id);
  }

  /** The ids from the ground floor to the comment. */
  get #chain(): string[] {
    const { id, parent_id, path } = this.#view.comment;
    // In a flat list a path is the comment alone.
    return path.length > 1 || !parent_id ? path : [parent_id, id];
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
    if (ids.every((each) => this.#thread.comments.floorOf(each))) return true;
    await loadFrames();
    return frames?.loadFloors(this.#thread, this.#view, ids) ?? false;
  }
}
