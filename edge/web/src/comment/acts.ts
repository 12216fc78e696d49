/** What a reader does to a comment. It is loaded when the reader comes to the comments. */

import '../text/later.ts';
import { setTabStop } from '../dom/tab-stop.ts';
import { fullTime } from '../text/full-time.ts';
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

  press(view: OwningComment, button: HTMLElement): Promise<void> | undefined {
    const { act } = button.dataset;
    switch (act) {
      case 'like':
      case 'dislike':
        return this.#senderOf(view).react(act);
      case 'reply':
        this.#formsOf(view).openReply();
        return;
      case 'replies':
        view.allReplies ??= new AllReplies(this.#thread, view);
        return view.allReplies.showNext();
      case 'frames':
        return view.useConversation((conversation) => conversation.toggle());
      case 'menu':
        return this.#thread.useMenus(view, (menus) => menus.openMenu(view, button));
      case 'card':
        return this.#thread.useMenus(view, (menus) => menus.openCard(view.comment, button));
      default:
        return;
    }
  }

  render(view: OwningComment): void {
    const { article, own, state, time } = view;
    time.title ||= fullTime(this.#thread.locale, time.dateTime);
    state.textContent = this.#stateOf(view);
    state.hidden = !state.textContent;
    if (own.can_edit || own.can_delete) this.#formsOf(view);
    view.forms?.render();
    setTabStop(article);
  }

  #senderOf(view: OwningComment): ReactionSender {
    const sender = this.#senders.get(view) ?? new ReactionSender(this.#thread, view);
    this.#senders.set(view, sender);
    return sender;
  }

  /** Who sees a comment that not everyone sees; empty for another one. */
  #stateOf({ comment, own }: OwningComment): string {
    const { text } = this.#thread;
    const { state, visibility } = comment;
    if (state === 'sending') return text.sending;
    if (state === 'review') return text.review;
    if (state === 'rejected') return text.rejected;
    if (visibility === 'self') return text.selfOnly;
    return state === 'published' && own.masked ? text.masked(own.masked) : '';
  }

  #formsOf(view: OwningComment): NonNullable<OwningComment['forms']> {
    view.forms ??= new InlineForms(this.#thread, view);
    return view.forms;
  }
}
