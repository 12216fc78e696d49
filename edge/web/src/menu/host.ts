/** What the menus need of the thread. Only types: `CommentThread` has the values. */

import type { Subject } from '../api/wire.ts';
import type { CommentHost } from '../comment/host.ts';
import type { CommentView } from '../comment/view.ts';
import type { ShownComment } from '../model/shown-comment.ts';

export interface MenuHost extends CommentHost {
  readonly frame: CommentHost['frame'] & MenuPlace;
  readonly comments: CommentHost['comments'] & ShownViews;
  readonly info: Pick<Subject, 'earlier_texts'>;
  /** As the server counts, with the reader's own changes since. */
  readonly count: number;
  setCount(count: number): void;
  /** Shows the sentence of an empty list, or hides it. */
  updateEmpty(): void;
}

interface MenuPlace {
  readonly section: HTMLElement;
  readonly heading: HTMLElement;
}

interface ShownViews {
  readonly views: CommentView[];
  viewsOf(id: string): CommentView[];
  /** Also where others quote it. */
  updateEach(id: string, change: (comment: ShownComment) => ShownComment): void;
  remove(id: string): void;
}
