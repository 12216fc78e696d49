/** The conversation below a comment: whether its frames are drawn, and which floors they need. It is loaded when some are drawn. */

import { type ChainLink, isTombstone } from '../model/shown-comment.ts';
import { chainOf } from './chain.ts';
import { FramesView, loadFloors } from './frames-view.ts';
import type { CommentHost, DrawnConversation, OwningComment } from './host.ts';

export class Conversation implements DrawnConversation {
  readonly #thread: CommentHost;
  readonly #view: OwningComment;
  #frames: FramesView | null = null;
  #isDrawnByItself = false;
  #isOpened = false;
  /** As the server has said it. */
  #loadedChain: string[] | undefined;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
  }

  /** A list brings the floors of its own comments; those of one that stands alone are fetched. */
  async drawByItself(isDrawn: boolean, isAlone: boolean): Promise<void> {
    this.#isDrawnByItself = isDrawn;
    this.render();
    if (isDrawn && isAlone && (await this.#loadChain())) this.render();
  }

  render(): void {
    const { comment, frames } = this.#view;
    const chain = this.#chain;
    const isShown = (this.#isDrawnByItself || this.#isOpened) && chain && !isTombstone(comment);
    frames.hidden = !isShown;
    if (!isShown) return;
    this.#frames ??= new FramesView(this.#thread, chain, (ids) => this.#load(ids));
    frames.replaceChildren(this.#frames.node);
    this.#frames.render();
  }

  updateFloor(id: string): void {
    this.#frames?.updateFloor(id);
  }

  async toggle(): Promise<void> {
    const isOpened = !this.#isOpened;
    if (isOpened && !(await this.#loadChain())) return;
    this.#isOpened = isOpened;
    this.#view.expander.setAttribute('aria-expanded', String(isOpened));
    this.render();
  }

  /** The ids from the ground floor to the comment; undefined while not all of them are known. */
  get #chain(): string[] | undefined {
    if (this.#loadedChain) return this.#loadedChain;
    return chainOf(this.#view.comment, (id) => {
      const floor = this.#thread.comments.floorOf(id);
      // What a page quotes has its place in the chain of the comment alone.
      return floor?.root_id ? (floor as ChainLink) : undefined;
    });
  }

  /** Fetches the chain as far as it is not known yet; false when that failed. */
  #loadChain(): Promise<boolean> {
    const chain = this.#chain;
    return chain ? this.#load(chain.slice(0, -1)) : this.#fetch([]);
  }

  /** Fetches floors that are not known yet; false when that failed. */
  async #load(ids: string[]): Promise<boolean> {
    if (ids.every((each) => this.#thread.comments.floorOf(each))) return true;
    return this.#fetch(ids);
  }

  async #fetch(ids: string[]): Promise<boolean> {
    const loaded = await loadFloors(this.#thread, this.#view, ids);
    this.#loadedChain ??= loaded?.chain;
    return loaded !== null;
  }
}
