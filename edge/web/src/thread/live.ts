/** The event stream and what it brings, from the thread's side. They are loaded when the first list is shown, and not where the page allows no stream. */

import '../text/later.ts';
import { Arrivals, type ArrivalsHost } from './arrivals.ts';
import { LiveStream, type LiveStreamHost } from './live-stream.ts';

export type LiveHost = ArrivalsHost & Omit<LiveStreamHost, 'arrivals'>;

export class LiveUpdates {
  readonly #arrivals: Arrivals;
  readonly #stream: LiveStream;

  /** `isAllowed` is the decision of the page; a hidden page never holds a stream. */
  constructor(thread: LiveHost, isAllowed: () => boolean) {
    const { api, roots, subject } = thread;
    this.#arrivals = new Arrivals(thread);
    const setCount = (count: number) => thread.setCount(count);
    this.#stream = new LiveStream(
      { api, arrivals: this.#arrivals, roots, setCount, subject },
      isAllowed,
    );
  }

  /** Opens or closes the stream. It begins after this version, if it was not open yet. */
  update(version = 0): void {
    this.#stream.startFrom(version);
    this.#stream.update();
  }

  stop(): void {
    this.#stream.close();
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
