/** What the reader changes: shown at once, then as the server has taken it. */

import { parseSubjectName } from '../api/paths.ts';
import type { Author, Comment, Reaction, ReactionState } from '../api/wire.ts';
import type { OwningComment } from '../comment/host.ts';
import { uniqueId } from '../dom/html.ts';
import { type ShownComment, tombstoneOf } from '../model/shown-comment.ts';
import type { Arrivals } from './arrivals.ts';
import type { ThreadPartHost } from './part-host.ts';
import type { ReaderState } from './reader-state.ts';

interface WritingHost extends ThreadPartHost {
  readonly arrivals: Arrivals;
  readonly reader: ReaderState;
  /** As the server counts, with the reader's own changes since. */
  readonly count: number;
  report(problem: unknown, view: OwningComment): void;
}

export class Writing {
  readonly #thread: WritingHost;

  constructor(thread: WritingHost) {
    this.#thread = thread;
  }

  /** Shows a comment as it will look, until the server has answered; removing the node ends that. */
  showSending(content: string, parent: ShownComment | null, guestName: string): HTMLElement {
    const { comments, frame } = this.#thread;
    const sending = this.#sendingComment(content, parent, guestName);
    const view = comments.makeView(sending, comments.current);
    comments.seat(view, { onTop: true });
    frame.empty.hidden = true;
    return view.node;
  }

  #sendingComment(content: string, parent: ShownComment | null, guestName: string): ShownComment {
    const { identity, mode, subject } = this.#thread;
    const id = uniqueId('sending');
    const above = parent && mode !== 'flat' ? parent.path : [];
    const member = identity.member ?? { name: guestName };
    const author: Author = {
      id: member.id ?? '0',
      name: member.name ?? '',
      avatar: member.avatar ?? null,
      level: member.level ?? null,
      guest: !identity.kind || identity.kind === 'guest',
      role: null,
    };
    return {
      id,
      subject: parseSubjectName(subject),
      author,
      parent_id: parent?.id ?? null,
      root_id: above[0] ?? id,
      reply_to: parent?.author ?? null,
      path: [...above, id],
      level: above.length,
      floor: null,
      content,
      html: '',
      mentions: [],
      media: [],
      state: 'sending',
      visibility: 'everyone',
      flags: [],
      likes: 0,
      dislikes: 0,
      replies: 0,
      created_at: Date.now(),
      edited_at: null,
    };
  }

  /** The server has taken a post; it may be held for review. */
  acceptPost(comment: Comment): void {
    const { arrivals, comments, frame, reader, recent, text } = this.#thread;
    const isHeld = comment.state !== 'published';
    if (!isHeld) recent.rememberPost(comment);
    reader.setOverlayEntry(comment.id, { can_edit: !isHeld, can_delete: true });
    arrivals.forget(comment.id);
    const scope = comments.current;
    const isNew = comments.viewsOf(comment.id).length === 0;
    const view = comments.place(comment, scope, { isKept: true }) ?? scope.views.get(comment.id);
    if (isNew && !isHeld) this.#thread.setCount(this.#thread.count + 1);
    this.#thread.updateEmpty();
    frame.announce(isHeld ? text.held : text.posted);
    view?.focus();
    this.#thread.emit('gailou:posted', { comment });
  }

  acceptEdit(comment: Comment): void {
    const { comments, frame, recent, text } = this.#thread;
    recent.rememberEdit(comment);
    comments.updateEach(comment.id, () => comment);
    frame.announce(text.saved);
  }

  async deleteComment(view: OwningComment, closeQuestion: () => void): Promise<void> {
    const { api, comments, frame, recent, text } = this.#thread;
    const { id, state } = view.comment;
    try {
      await api.delete(id);
    } catch (problem) {
      closeQuestion();
      this.#thread.report(problem, view);
      return;
    }
    recent.rememberRemoval(id);
    recent.forgetPost(id);
    closeQuestion();
    comments.updateEach(id, tombstoneOf);
    if (state === 'published') this.#thread.setCount(Math.max(0, this.#thread.count - 1));
    frame.announce(text.deletedNow);
    view.focus();
  }

  /** Sends the wish unless the server has confirmed it already; resolves to what is confirmed. */
  async sendReaction(
    id: string,
    wanted: Reaction | null,
    confirmed: ReactionState,
  ): Promise<ReactionState> {
    const { api } = this.#thread;
    const kind = wanted ?? confirmed.reaction;
    if (wanted === confirmed.reaction || !kind) return confirmed;
    const { data } = await (wanted ? api.putReaction(id, kind) : api.deleteReaction(id, kind));
    const { likes, dislikes, reaction } = data;
    this.#thread.recent.rememberCounts(id, { likes, dislikes });
    return { likes, dislikes, reaction };
  }

  showReaction(id: string, { likes, dislikes, reaction }: ReactionState): void {
    const { comments, reader } = this.#thread;
    for (const view of comments.viewsOf(id)) Object.assign(view.comment, { likes, dislikes });
    reader.setReaction(id, reaction);
  }
}
