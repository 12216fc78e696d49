/** The conversation below a comment: whether its frames are drawn, and which floors they need. It is loaded when some are drawn. */

import { isTombstone } from '../model/shown-comment.ts';
import { FramesView, loadFloors } from './frames-view.ts';
import type { CommentHost, DrawnConversation, OwningComment } from './host.ts';

export class Conversation implements DrawnConversation {
  readonly #thread: CommentHost;
  readonly #view: OwningComment;
  #frames: FramesView | null = null;
  #isDrawnByItself = false;
  #isOpened = false;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
  }

  /** A list brings the floors of its own comments; those of one that stands alone are fetched. */
  async drawByItself(isDrawn: boolean, isAlone: boolean): Promise<void> {
    this.#isDrawnByItself = isDrawn;
    this.render();
    if (isDrawn && isAlone && (await this.#load(this.#chain.slice(0, -1)))) this.render();
  }

  render(): void {
    const { comment, frames } = this.#view;
    const isShown = (this.#isDrawnByItself || this.#isOpened) && !isTombstone(comment);
    frames.hidden = !isShown;
    if (!isShown) return;
    this.#frames ??= new FramesView(this.#thread, this.#chain, (ids) => this.#load(ids));
    frames.replaceChildren(this.#frames.node);
    this.#frames.render();
  }

  updateFloor(id: string): void {
    this.#frames?.updateFloor(id);
  }

  async toggle(): Promise<void> {
    const isOpened = !this.#isOpened;
    if (isOpened && !(await this.#load(this.#chain.slice(0, -1)))) return;
    this.#isOpened = isOpened;
    this.#view.expander.setAttribute('aria-expanded', String(isOpened));
    this.render();
  }

  /** The ids from the ground floor to the comment. */
  get #chain(): string[] {
    const { id, parent_id, path } = this.#view.comment;
    // In a flat list a path is the comment alone.
    return path.length > 1 || !parent_id ? path : [parent_id, id];
  }

  /** Fetches floors that are not known yet; false when that failed. */
  async #load(ids: string[]): Promise<boolean> {
    if (ids.every((each) => this.#thread.comments.floorOf(each))) return true;
    return loadFloors(this.#thread, this.#view, ids);
  }
}
