/** The comments on the page, and where each of them is drawn. It fetches nothing. */

import type { ListPage } from '../api/pager.ts';
import type { ListedComment } from '../api/wire.ts';
import { loadFrames } from '../comment/building.ts';
import type { CommentScope } from '../comment/comment-scope.ts';
import { CommentView, type CommentViewHost } from '../comment/view.ts';
import type { QuotedComment, ShownComment } from '../model/shown-comment.ts';

/** Deeper replies of a tree keep the indentation of this level. */
const MAX_TREE_INDENT = 3;

export type CommentChange = (comment: ShownComment) => ShownComment;
export type QuoteChange = (floor: QuotedComment) => QuotedComment;

export class ShownComments {
  readonly main: CommentScope<CommentView>;
  /** What is quoted on the page and has no place of its own there. */
  readonly floors = new Map<string, QuotedComment>();
  /** A linked comment that is not in the list, and its replies, while one is shown above the list. */
  linked: CommentScope<CommentView> | null = null;
  // What `comment-changes.ts` adds.
  /** A comment as others quote it; undefined while it is not known. */
  declare readonly floorOf: (id: string) => QuotedComment | undefined;
  /** Where an answer to this comment is shown; null is a new root. */
  declare readonly scopeOf: (parentId: string | null) => CommentScope<CommentView>;
  /** Also where others quote it. */
  declare readonly updateEach: (id: string, change: CommentChange) => void;
  declare readonly updateQuotes: (id: string, change: QuoteChange) => void;
  declare readonly remove: (id: string) => void;
  declare readonly addFloors: (comments: QuotedComment[]) => void;
  declare readonly addFloorsOf: (page: Pick<ListPage, 'items' | 'floors'>) => void;
  /** Shows a page of replies under their comment; those on the page keep their places. Answers the others. */
  declare readonly placeReplies: (under: CommentView, replies: ListedComment[]) => CommentView[];
  readonly #thread: CommentViewHost;

  constructor(thread: CommentViewHost, list: HTMLOListElement) {
    this.#thread = thread;
    this.main = { list, views: new Map() };
  }

  /** What a page brings, before its comments are placed: they quote each other in any order. */
  async addPage(page: Pick<ListPage, 'items' | 'floors'>): Promise<void> {
    if (page.floors && (await loadFrames(this.#thread))) this.addFloorsOf(page);
  }

  viewsOf(id: string): CommentView[] {
    return this.#scopes.flatMap((scope) => scope.views.get(id) ?? []);
  }

  /** A comment may have two views while a linked one is shown above the list. */
  get views(): CommentView[] {
    return this.#scopes.flatMap((scope) => [...scope.views.values()]);
  }

  /** A view that is neither in its place nor in the views of its scope. */
  makeView(comment: ShownComment, scope: CommentScope<CommentView>): CommentView {
    return new CommentView(this.#thread, comment, scope);
  }

  /**
   * Shows a comment where the subject's mode draws it; `isKept` puts a root on top of the list. A
   * comment already shown is patched; the answer is null when it keeps the place it has.
   */
  place(
    comment: ListedComment,
    scope: CommentScope<CommentView>,
    { isKept = false } = {},
  ): CommentView | null {
    const latest = this.latest(comment);
    const known = scope.views.get(comment.id);
    if (known) {
      known.update(latest);
      if (known.isPinned || (known.isKept && !this.containerOf(known))) return null;
    }
    const view = known ?? this.makeView(latest, scope);
    scope.views.set(comment.id, view);
    view.isKept ||= isKept;
    this.seat(view, { onTop: isKept });
    return view;
  }

  /** Puts the view where it belongs: under its container, else at the end or the top of the list. */
  seat(view: CommentView, { onTop = false } = {}): void {
    const container = this.containerOf(view);
    const { id, parent_id, root_id } = view.comment;
    if (container) {
      const { comment, replies } = container;
      replies.append(view.node);
      replies.classList.toggle('flat', comment.level > MAX_TREE_INDENT);
      view.showAnswered(comment.id === parent_id ? 'below-parent' : 'in-thread');
    } else {
      view.scope.list[onTop ? 'prepend' : 'append'](view.node);
      view.showAnswered(root_id === id ? 'in-thread' : 'alone');
    }
  }

  /** The view that a reply is drawn under: its parent in a tree, below the last level what its parent is under; else its root. */
  containerOf({ comment, scope: { views } }: CommentView): CommentView | undefined {
    const { id, level, parent_id, root_id } = comment;
    // Also every comment of a flat list.
    if (root_id === id) return;
    const root = views.get(root_id);
    const parent = views.get(parent_id as string);
    const above = parent && this.containerOf(parent);
    if (this.#thread.mode !== 'tree') return root ?? above ?? parent;
    return above && above.comment.level >= level ? above : (parent ?? root);
  }

  /** With the reader's own later changes. */
  latest<Shown extends QuotedComment>(comment: Shown): Shown {
    return this.#thread.later?.recent.applyTo(comment) ?? comment;
  }

  get #scopes(): CommentScope<CommentView>[] {
    return this.linked ? [this.linked, this.main] : [this.main];
  }
}
