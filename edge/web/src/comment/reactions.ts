/**
 * The like and dislike buttons of one comment. A press shows at once and is sent; an error takes
 * everything back to what the server last confirmed.
 */

import type { Reaction, ReactionState } from '../api/wire.ts';
import { h, icon, screenReaderText, THUMB_PATH } from '../dom/html.ts';
import { reactionStateWith } from '../model/shown-comment.ts';
import type { CommentHost, OwningComment } from './host.ts';

interface ReactionButton {
  readonly node: HTMLButtonElement;
  readonly count: HTMLSpanElement;
}

export class ReactionButtons {
  readonly #thread: CommentHost;
  readonly #view: OwningComment;
  readonly #like: ReactionButton;
  readonly #dislike: ReactionButton;
  #wanted: Reaction | null = null;
  #isSending = false;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    this.#like = this.#buildButton('like');
    this.#dislike = this.#buildButton('dislike');
  }

  get nodes(): HTMLButtonElement[] {
    return [this.#like.node, this.#dislike.node];
  }

  render(isVisible: boolean): void {
    const { comment, own } = this.#view;
    this.#renderButton(this.#like, comment.likes, own.reaction === 'like');
    this.#renderButton(this.#dislike, comment.dislikes, own.reaction === 'dislike');
    for (const node of this.nodes) node.hidden = !isVisible;
  }

  #renderButton({ node, count }: ReactionButton, number: number, isPressed: boolean): void {
    count.textContent = number > 0 ? this.#thread.locale.shortNumber(number) : '';
    node.setAttribute('aria-pressed', String(isPressed));
  }

  #buildButton(kind: Reaction): ReactionButton {
    const count = h('span');
    const node = h(
      'button',
      {
        type: 'button',
        class: `act ${kind}`,
        'aria-pressed': 'false',
        on: { click: () => this.#react(kind) },
      },
      icon(THUMB_PATH),
      screenReaderText(this.#thread.text[kind]),
      ' ',
      count,
    );
    return { node, count };
  }

  async #react(kind: Reaction): Promise<void> {
    const { identity, reacting } = this.#thread;
    this.#view.showMessage('');
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
