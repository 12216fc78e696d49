/**
 * The reader's reaction to one comment. A press shows at once and is sent; an error takes everything back to what the
 * server last confirmed.
 */

import type { Reaction, ReactionState } from '../api/wire.ts';
import { reactionStateWith } from '../model/comment-changes.ts';
import type { CommentHost, OwningComment } from './host.ts';

export class ReactionSender {
  readonly #thread: CommentHost;
  readonly #view: OwningComment;
  #wanted: Reaction | null = null;
  #isSending = false;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
  }

  async react(kind: Reaction): Promise<void> {
    const { identity, reacting } = this.#thread;
    if (!identity.token && !(await this.#thread.becomeGuest(this.#view))) return;
    const before = this.#state();
    this.#wanted = before.reaction === kind ? null : kind;
    reacting.showReaction(this.#view.comment.id, reactionStateWith(before, this.#wanted));
    if (!this.#isSending) await this.#sendUntilSettled(before);
  }

  #state(): ReactionState {
    const { likes, dislikes } = this.#view.comment;
    return { likes, dislikes, reaction: this.#view.own.reaction };
  }

  /** Of the presses made while a request is under way, the last one is sent after it. */
  async #sendUntilSettled(before: ReactionState): Promise<void> {
    const { reacting } = this.#thread;
    const { id } = this.#view.comment;
    let confirmed = before;
    let sent: Reaction | null;
    this.#isSending = true;
    try {
      do {
        sent = this.#wanted;
        confirmed = await reacting.sendReaction(id, sent, confirmed);
      } while (this.#wanted !== sent);
    } catch (problem) {
      this.#thread.report(problem, this.#view);
    } finally {
      this.#isSending = false;
      reacting.showReaction(id, confirmed);
    }
  }
}
