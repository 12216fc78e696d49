/**
 * The building that a comment stands on: what it answers, down to the ground floor, as frames inside
 * each other. Where a mode shows none, the line "replying to …" opens it in place.
 */

import type { DrawnConversation, DrawnHost, OwningComment } from './host.ts';

let part: typeof import('./conversation.ts') | null = null;

/** Loads what draws frames; a list that has some waits for it, so that nothing moves. */
export async function loadFrames(thread: Pick<DrawnHost, 'complete'>): Promise<boolean> {
  const loading = Promise.all([import('./conversation.ts'), thread.complete()]);
  part ??= await loading.then(([loaded]) => loaded).catch(() => null);
  return part !== null;
}

/** At once where the frames are loaded, so that nothing moves. */
export async function useConversation(
  thread: DrawnHost,
  view: OwningComment,
  action: (conversation: DrawnConversation) => unknown,
): Promise<void> {
  if (!(part && thread.later) && !(await loadFrames(thread))) {
    view.showMessage(thread.text.errors.network);
  } else if (part && thread.later) {
    view.conversation ??= new part.Conversation(thread.later.thread, view);
    action(view.conversation);
  }
}
