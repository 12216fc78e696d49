/** The comments under one list element, by id: no comment is shown twice in it. */

import type { CommentView } from '../comment/view.ts';

export class CommentScope {
  readonly list: HTMLOListElement;
  readonly views = new Map<string, CommentView>();

  constructor(list: HTMLOListElement) {
    this.list = list;
  }

  remove(view: CommentView): void {
    view.node.remove();
    this.views.delete(view.comment.id);
  }

  clear(): void {
    this.list.replaceChildren();
    this.views.clear();
  }
}
