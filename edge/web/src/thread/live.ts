/** The event stream and what it brings, and the counts that move, from the thread's side. They are loaded when the first list is shown, and not where the page allows no stream. */

import '../text/later.ts';
import { Arrivals, type ArrivalsHost } from './arrivals.ts';
import { LiveStream, type LiveStreamHost } from './live-stream.ts';
import { MovingCounts, type MovingCountsHost } from './moving-counts.ts';

export type LiveHost = ArrivalsHost & MovingCountsHost & Omit<LiveStreamHost, 'arrivals'>;

export class LiveUpdates {
  readonly #arrivals: Arrivals;
  readonly #stream: LiveStream;
  readonly #counts: MovingCounts;

  /** `isAllowed` is the decision of the page; a hidden page never holds a stream. */
  constructor(thread: LiveHost, isAllowed: () => boolean) {
    const { api, roots, subject } = thread;
    this.#arrivals = new Arrivals(thread);
    const setCount = (count: number) => thread.setCount(count);
    this.#stream = new LiveStream(
      { api, arrivals: this.#arrivals, roots, setCount, subject },
      isAllowed,
    );
    this.#counts = new MovingCounts(thread);
  }

  /** Opens or closes the stream. It begins after this version, if it was not open yet. */
  update(version = 0): void {
    this.#stream.startFrom(version);
    if (this.#stream.update()) this.#counts.start();
    else this.#counts.stop();
  }

  /** Whether comments wait behind the button. */
  get isWaiting(): boolean {
    return this.#arrivals.isWaiting;
  }

  stop(): void {
    this.#stream.close();
    this.#counts.stop();
    this.#arrivals.stop();
  }

  /** Comments that are shown do not wait behind the button. */
  forget(id: string): void {
    this.#arrivals.forget(id);
  }

  forgetListed(): void {
    this.#arrivals.forgetListed();
  }
}
