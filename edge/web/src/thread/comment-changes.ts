/** What changes the comments on the page once they are drawn. It is loaded with what acts. */

import type { ListedComment } from '../api/wire.ts';
import type { CommentView } from '../comment/view.ts';
import type { CommentChange, QuoteChange, ShownComments } from './shown-comments.ts';

/** The comments have it from then on. */
export function addChanges(comments: ShownComments): void {
  const { floors, main } = comments;
  Object.assign(comments, {
    floorOf: (id) => comments.viewsOf(id)[0]?.comment ?? floors.get(id),
    scopeOf: (parentId) => {
      const { linked } = comments;
      return parentId && linked?.views.has(parentId) ? linked : main;
    },
    updateEach: (id: string, change: CommentChange) => {
      for (const view of comments.viewsOf(id)) view.update(change(view.comment));
      comments.updateQuotes(id, (floor) => ({
        ...floor,
        ...change(floor as CommentView['comment']),
      }));
    },
    updateQuotes: (id: string, change: QuoteChange) => {
      const floor = floors.get(id);
      if (floor) floors.set(id, change(floor));
      for (const view of comments.views) view.conversation?.updateFloor(id);
    },
    addFloors: (quoted) => {
      for (const floor of quoted) floors.set(floor.id, comments.latest(floor));
    },
    addFloorsOf: ({ items, floors: listed }) => {
      const others = Object.entries(listed ?? {}).map(([id, floor]) => ({
        ...floor,
        id,
      }));
      const own = items.flatMap((item) => [item, ...(item.top_replies ?? [])]);
      comments.addFloors([...others, ...own]);
    },
    remove: (id: string) => {
      for (const { node, scope } of comments.viewsOf(id)) {
        node.remove();
        scope.views.delete(id);
      }
    },
    placeReplies: ({ scope }: CommentView, replies: ListedComment[]) =>
      replies.flatMap((reply) => {
        const known = scope.views.get(reply.id);
        // In a tree an answer moves when what it answers has come.
        const list = known && comments.containerOf(known)?.replies;
        if (!known || known.node.parentElement !== list) return comments.place(reply, scope) ?? [];
        known.update(comments.latest(reply));
        return [];
      }),
  } satisfies Partial<ShownComments>);
}
