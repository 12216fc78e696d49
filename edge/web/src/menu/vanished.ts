/** A comment that is taken off the page before the server has answered, so that it can come back. */

import { tombstoneOf } from '../model/comment-changes.ts';
import type { ShownComment } from '../model/shown-comment.ts';
import type { MenuHost } from './host.ts';

export class VanishedComment {
  readonly #host: MenuHost;
  readonly #before: ShownComment;
  readonly #countBefore: number;

  /** With answers under it, it becomes a tombstone. */
  constructor(host: MenuHost, comment: ShownComment) {
    this.#host = host;
    this.#before = { ...comment };
    this.#countBefore = host.count;
    const { comments, recent } = host;
    recent.rememberRemoval(comment.id);
    for (const view of comments.viewsOf(comment.id)) view.node.hidden = this.#isAlone(view.node);
    comments.updateEach(comment.id, tombstoneOf);
    if (comment.state === 'published') host.setCount(Math.max(0, host.count - 1));
  }

  restore(): void {
    const { comments, recent } = this.#host;
    const { id } = this.#before;
    recent.forgetRemoval(id);
    comments.updateEach(id, () => this.#before);
    for (const view of comments.viewsOf(id)) view.node.hidden = false;
    // The event stream may have brought the server's count, with the comment in it.
    this.#host.setCount(Math.max(this.#host.count, this.#countBefore));
    comments.viewsOf(id)[0]?.focus();
  }

  /** The server has carried it out. */
  settle(): void {
    const { comments, recent } = this.#host;
    const { id } = this.#before;
    recent.forgetPost(id);
    const [view] = comments.viewsOf(id);
    if (view?.node.hidden && this.#isAlone(view.node)) comments.remove(id);
    else if (view) view.node.hidden = false;
    this.#host.updateEmpty();
  }

  /** The focus goes to what is left of the comment, else to one beside it. */
  focusNear(): void {
    const { comments, frame } = this.#host;
    const node = comments.viewsOf(this.#before.id)[0]?.node;
    const near = [node, node?.nextElementSibling, node?.previousElementSibling].find(
      (each) => each instanceof HTMLElement && !each.hidden,
    );
    const above = node?.parentElement?.closest('.item');
    const comment = (near ?? above)?.querySelector('article');
    if (!comment) frame.heading.tabIndex = -1;
    (comment ?? frame.heading).focus({ preventScroll: true });
  }

  #isAlone(node: HTMLElement): boolean {
    return this.#before.replies === 0 && !node.querySelector('.item');
  }
}
