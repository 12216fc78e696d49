/** Counts down the seconds until the server takes something again. */

import { ApiProblem } from '../api/problem.ts';
import { h, screenReaderText } from '../dom/html.ts';
import type { Timer } from '../util/time.ts';

const TICK_MS = 1_000;

export class Countdown {
  #timer: Timer | undefined;

  get isRunning(): boolean {
    return this.#timer !== undefined;
  }

  /**
   * Writes the sentence about `problem` with the seconds that are left into `node`, and calls `onEnd` after them. A screen
   * reader hears the first sentence alone.
   */
  start(
    problem: ApiProblem,
    node: HTMLElement,
    {
      text,
      describe,
      onEnd,
    }: { text: string; describe: (problem: ApiProblem) => string; onEnd(): void },
  ): void {
    this.stop();
    const endsAtMs = performance.now() + problem.retryAfterMs;
    const sentence = (retryAfterMs: number) =>
      `${describe(new ApiProblem({ ...problem, retryAfterMs }))} ${text}`;
    const shown = h('span', { 'aria-hidden': 'true' });
    node.replaceChildren(screenReaderText(sentence(problem.retryAfterMs)), shown);
    const tick = () => {
      const leftMs = endsAtMs - performance.now();
      if (leftMs <= 0) {
        this.stop();
        onEnd();
        return;
      }
      shown.textContent = sentence(leftMs);
    };
    this.#timer = setInterval(tick, TICK_MS);
    tick();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
