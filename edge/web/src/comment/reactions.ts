/** The like and dislike buttons of one comment, with their numbers. */

import type { Reaction } from '../api/wire.ts';
import { h, icon, screenReaderText, THUMB_PATH } from '../dom/html.ts';
import type { DrawnHost, OwningComment } from './host.ts';

interface ReactionButton {
  readonly node: HTMLButtonElement;
  readonly count: HTMLSpanElement;
}

export class ReactionButtons {
  readonly #thread: DrawnHost;
  readonly #view: OwningComment;
  readonly #like: ReactionButton;
  readonly #dislike: ReactionButton;

  constructor(thread: DrawnHost, view: OwningComment) {
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
        on: { click: () => this.#thread.act(this.#view, (acts) => acts.react(this.#view, kind)) },
      },
      icon(THUMB_PATH),
      screenReaderText(this.#thread.text[kind]),
      ' ',
      count,
    );
    return { node, count };
  }
}
