/** What the reader writes and who writes it: shown at once, then as the server has taken it. */

import type { ReaderAccount } from '../account/account.ts';
import { changeMe, createGuest, renameGuest } from '../api/member-calls.ts';
import type { Author, Comment } from '../api/wire.ts';
import { announce } from '../dom/announce.ts';
import { uniqueId } from '../dom/template.ts';
import { keepGuest, kindOf, memberOf } from '../model/member.ts';
import type { AnsweredComment, ShownComment } from '../model/shown-comment.ts';
import type { HostToken } from './host-token.ts';
import type { LiveUpdates } from './live.ts';
import type { ThreadPartHost } from './part-host.ts';
import type { ReaderState } from './reader-state.ts';

export interface WritingHost extends ThreadPartHost {
  /** Null before the event stream is loaded. */
  readonly live: Pick<LiveUpdates, 'forget'> | null;
  readonly reader: ReaderState;
  readonly account: ReaderAccount;
  readonly hostToken: HostToken;
  /** As the server counts, with the reader's own changes since. */
  readonly count: number;
}

export class Writing {
  readonly #thread: WritingHost;
  #guestOnItsWay: Promise<void> | null = null;

  constructor(thread: WritingHost) {
    this.#thread = thread;
  }

  /** Shows a comment as it will look, until the server has answered; removing the node ends that. */
  showSending(content: string, parent: AnsweredComment | null, guestName: string): HTMLElement {
    const { comments, frame } = this.#thread;
    const sending = this.#sendingComment(content, parent, guestName);
    const view = comments.makeView(sending, comments.scopeOf(parent?.id ?? null));
    comments.seat(view, { onTop: true });
    frame.empty.hidden = true;
    return view.node;
  }

  #sendingComment(
    content: string,
    parent: AnsweredComment | null,
    guestName: string,
  ): ShownComment {
    const { identity, mode } = this.#thread;
    const id = uniqueId('sending');
    const above = mode === 'flat' ? null : parent;
    const member = memberOf(identity) ?? { name: guestName };
    const author: Author = {
      id: member.id ?? '0',
      name: member.name || guestName,
      // The server's answer has the address at which readers get it.
      avatar: null,
      level: member.level ?? null,
      guest: !kindOf(identity) || kindOf(identity) === 'guest',
      role: null,
    };
    return {
      id,
      author,
      parent_id: parent?.id ?? null,
      root_id: above?.root_id ?? above?.path?.[0] ?? id,
      reply_to: parent?.author ?? null,
      // Of a comment in a building, or of one that is no answer.
      ...(above?.path || !above ? { path: [...(above?.path ?? []), id] } : {}),
      level: above?.level ?? 0,
      floor: null,
      content,
      html: '',
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

  /** The server has taken a post of this text; it may be held for review, or masked, which the overlay has. */
  acceptPost(comment: Comment, written: string): void {
    const { comments, frame, live, reader, recent, text } = this.#thread;
    const isHeld = comment.state !== 'published';
    if (!isHeld) recent.rememberPost(comment);
    reader.setOverlayEntry(comment.id, { can_edit: !isHeld, can_delete: true });
    live?.forget(comment.id);
    const scope = comments.scopeOf(comment.parent_id);
    const isNew = comments.viewsOf(comment.id).length === 0;
    const view = comments.place(comment, scope, { isKept: true }) ?? scope.views.get(comment.id);
    if (isNew && !isHeld) this.#thread.setCount(this.#thread.count + 1);
    this.#thread.updateEmpty();
    announce(frame, isHeld ? text.held : text.posted);
    view?.focus();
    if (comment.content !== written) reader.loadOverlay([comment.id]);
    this.#thread.emit('gailou:posted', { comment });
  }

  acceptEdit(comment: Comment): void {
    const { comments, frame, recent, text } = this.#thread;
    recent.rememberEdit(comment);
    comments.updateEach(comment.id, () => comment);
    announce(frame, text.saved);
  }

  /**
   * Who only reacts or reports needs no name. Several calls at once make one guest. Rejects with an `ApiProblem` when the
   * server refuses the name, or guests.
   */
  becomeGuest(name?: string): Promise<void> {
    this.#guestOnItsWay ??= this.#createGuest(name).finally(() => {
      this.#guestOnItsWay = null;
    });
    return this.#guestOnItsWay;
  }

  async #createGuest(name?: string): Promise<void> {
    const { api, hostToken, identity, reader } = this.#thread;
    await hostToken.isKnown();
    if (identity.hostToken) return;
    const { data } = await createGuest(api, name);
    keepGuest(identity, data);
    reader.onIdentityChange();
  }

  /** The reader stays the same. Rejects with an `ApiProblem` when the server refuses the name. */
  async rename(name: string): Promise<void> {
    const { account, api, identity, reader } = this.#thread;
    if (kindOf(identity) === 'account') {
      await changeMe(api, { name });
      // The name is in the token.
      await account.renew();
    } else {
      const { data } = await renameGuest(api, name);
      keepGuest(identity, data);
    }
    reader.onIdentityChange();
  }
}
