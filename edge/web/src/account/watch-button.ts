/** A button that has the reader notified of new comments in a thread, or not any more. */

import { setWatch } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { h, icon } from '../dom/html.ts';
import type { ThreadContext } from '../model/thread-context.ts';

const EYE_PATH =
  'M2 12q4.5-6.5 10-6.5T22 12q-4.5 6.5-10 6.5T2 12zM9 12a3 3 0 1 0 6 0 3 3 0 0 0-6 0';

export class WatchButton {
  readonly node: HTMLButtonElement;
  readonly #api: ThreadContext['api'];
  readonly #subject: string;
  readonly #report: (problem: ApiProblem | null) => void;
  #isWatching = false;

  /** `report` is called with what went wrong, and with null before each attempt. */
  constructor(
    api: ThreadContext['api'],
    subject: string,
    label: string,
    report: (problem: ApiProblem | null) => void,
  ) {
    this.#api = api;
    this.#subject = subject;
    this.#report = report;
    const attributes = {
      type: 'button',
      class: 'bell',
      title: label,
      'aria-label': label,
    } as const;
    this.node = h(
      'button',
      { ...attributes, hidden: true, on: { click: () => this.#toggle() } },
      icon(EYE_PATH),
    );
  }

  show(isWatching: boolean): void {
    this.#isWatching = isWatching;
    this.node.hidden = false;
    this.node.setAttribute('aria-pressed', `${isWatching}`);
  }

  async #toggle(): Promise<void> {
    const isWatching = !this.#isWatching;
    this.#report(null);
    this.node.disabled = true;
    try {
      await setWatch(this.#api, this.#subject, isWatching);
      this.show(isWatching);
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem;
      this.#report(problem);
    } finally {
      this.node.disabled = false;
      this.node.focus();
    }
  }
}
