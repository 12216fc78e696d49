/** A reader who was a guest has signed in: what the guest wrote is shown as theirs, and they may change it. */

import '../text/later.ts';
import { ownComment } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Guest } from '../api/wire.ts';
import { announce } from '../dom/announce.ts';
import type { ThreadPartHost } from './part-host.ts';

interface MergeHost extends ThreadPartHost {
  readonly reader: { notice: string; loadOverlay(ids: string[]): Promise<void> };
  showState(): void;
}

export function showMerge(thread: MergeHost, { member }: Guest): void {
  const { comments, frame, reader, text } = thread;
  reader.notice = text.merged;
  thread.showState();
  announce(frame, text.merged);
  const own = comments.views.filter(({ comment }) => comment.author?.id === member.id);
  for (const { comment } of own) refresh(thread, comment.id);
  reader.loadOverlay(comments.views.map(({ comment }) => comment.id));
}

async function refresh({ api, comments, recent }: MergeHost, id: string): Promise<void> {
  try {
    const { data } = await ownComment(api, id);
    for (const view of comments.viewsOf(id)) view.update(recent.applyTo(data));
  } catch (problem) {
    // The next list has it.
    if (!(problem instanceof ApiProblem)) throw problem;
  }
}
