/** Deletes a comment without a question: it is gone at once, and the server hears of it unless it is undone. */

import { deleteComment } from '../api/member-calls.ts';
import type { OwningComment } from '../comment/host.ts';
import { announce } from '../dom/announce.ts';
import { menuText } from '../text/menu.ts';
import type { MenuHost } from './host.ts';
import type { UndoBar } from './undo-bar.ts';
import { VanishedComment } from './vanished.ts';

const UNDO_OFFER_MS = 6_000;

export function offerDeletion(host: MenuHost, bar: UndoBar, view: OwningComment): void {
  const { api, frame, locale } = host;
  const { id } = view.comment;
  const { done, undo } = menuText(locale);
  const vanished = new VanishedComment(host, view.comment);
  const settle = async () => {
    try {
      await deleteComment(api, id, { keepalive: true });
      vanished.settle();
    } catch (problem) {
      vanished.restore();
      host.report(problem, view);
    }
  };
  bar.show({
    sentence: done.delete,
    forMs: UNDO_OFFER_MS,
    undo: () => vanished.restore(),
    settle,
    takesFocus: true,
    returnFocus: () => vanished.focusNear(),
  });
  announce(frame, `${done.delete} · ${undo}`);
}
