/** What a reader does to a comment. It is loaded when the reader comes to the comments. */

import '../text/later.ts';
import type { Reaction } from '../api/wire.ts';
import { AllReplies } from './all-replies.ts';
import type { CommentActs, CommentHost, OwningComment } from './host.ts';
import { InlineForms } from './inline-forms.ts';
import { ReactionSender } from './reaction-sender.ts';

export class ReaderActs implements CommentActs {
  readonly #thread: CommentHost;
  readonly #senders = new WeakMap<OwningComment, ReactionSender>();

  constructor(thread: CommentHost) {
    this.#thread = thread;
  }

  react(view: OwningComment, kind: Reaction): Promise<void> {
    const sender = this.#senders.get(view) ?? new ReactionSender(this.#thread, view);
    this.#senders.set(view, sender);
    return sender.react(kind);
  }

  /** Who sees a comment that not everyone sees; empty for another one. */
  stateOf({ comment, own }: OwningComment): string {
    const { text } = this.#thread;
    const { state, visibility } = comment;
    if (state === 'sending') return text.sending;
    if (state === 'review') return text.review;
    if (state === 'rejected') return text.rejected;
    if (visibility === 'self') return text.selfOnly;
    return state === 'published' && own.masked ? text.masked(own.masked) : '';
  }

  formsOf(view: OwningComment): NonNullable<OwningComment['forms']> {
    view.forms ??= new InlineForms(this.#thread, view);
    return view.forms;
  }

  showReplies(view: OwningComment): Promise<void> {
    const { replies } = view;
    replies.all ??= new AllReplies(this.#thread, view, replies.moreButton);
    return replies.all.showNext();
  }

  openMenu(view: OwningComment, opener: HTMLElement): Promise<void> {
    return this.#thread.useMenus(view, (menus) => menus.openMenu(view, opener));
  }

  openCard(view: OwningComment, opener: HTMLElement): Promise<void> {
    return this.#thread.useMenus(view, (menus) => menus.openCard(view.comment, opener));
  }
}
