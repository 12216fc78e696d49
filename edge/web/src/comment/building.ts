/** The button of a deep comment that shows the whole building below it, and hides it again. */

import { h } from '../dom/html.ts';
import { chainOf } from './chain.ts';
import type { CommentHost, OwningComment } from './host.ts';

/** A comment with only its root below is understood without a building. */
const MAX_FLOORS_WITHOUT_BUILDING = 2;

export class BuildingToggle {
  readonly button: HTMLButtonElement;
  readonly chain = h('div');
  readonly #thread: CommentHost;
  readonly #view: OwningComment;
  #isOpen = false;

  constructor(thread: CommentHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    this.button = h('button', {
      type: 'button',
      class: 'act building',
      'aria-expanded': 'false',
      on: { click: () => this.#toggle() },
    });
  }

  /** Whether the building is drawn; its top floor is then the body of the comment. */
  get isShown(): boolean {
    return this.chain.childElementCount > 0;
  }

  render(): void {
    const { text } = this.#thread;
    const { comment } = this.#view;
    const floors = comment.path.length;
    this.button.hidden = floors <= MAX_FLOORS_WITHOUT_BUILDING || comment.state === 'sending';
    this.button.textContent = this.#isOpen ? text.hideBuilding : text.building(floors);
  }

  async #toggle(): Promise<void> {
    if (this.#isOpen) {
      this.chain.replaceChildren();
    } else if (!(await this.#showChain())) {
      return;
    }
    this.#isOpen = !this.#isOpen;
    this.button.setAttribute('aria-expanded', String(this.#isOpen));
    this.#view.hideBody(this.#isOpen);
    this.#view.renderActions();
  }

  async #showChain(): Promise<boolean> {
    const { api, locale } = this.#thread;
    const { comment } = this.#view;
    try {
      const { data } = await api.ancestors(comment.id);
      const below = data.data.filter((each) => each.id !== comment.id);
      this.chain.replaceChildren(chainOf([...below, this.#view.comment], locale, api.base));
      return true;
    } catch (problem) {
      this.#thread.report(problem, this.#view);
      return false;
    }
  }
}
