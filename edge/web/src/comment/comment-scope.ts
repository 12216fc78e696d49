/** The comments under one list element, by id: no comment is shown twice in it. */

import type { ShownComment } from '../model/shown-comment.ts';

interface ScopedView {
  readonly node: HTMLElement;
  readonly comment: ShownComment;
}

export class CommentScope<View extends ScopedView> {
  readonly list: HTMLOListElement;
  readonly views = new Map<string, View>();

  constructor(list: HTMLOListElement) {
    this.list = list;
  }

  remove(view: View): void {
    view.node.remove();
    this.views.delete(view.comment.id);
  }

  clear(): void {
    this.list.replaceChildren();
    this.views.clear();
  }
}
