/**
 * The event stream and what it brings, from the thread's side. They are loaded when the first list is shown, and not where
 * the page allows no stream.
 */

import type { Arrivals, ArrivalsHost } from './arrivals.ts';
import type { LiveStream, LiveStreamHost } from './live-stream.ts';

type LiveHost = ArrivalsHost &
  Omit<LiveStreamHost, 'arrivals'> & {
    /** Loads what acts. */
    complete(): Promise<unknown>;
  };

export class LiveUpdates {
  readonly #thread: LiveHost;
  readonly #isAllowed: () => boolean;
  #version = 0;
  #isLoading = false;
  #isStopped = false;
  #arrivals: Arrivals | null = null;
  #stream: LiveStream | null = null;

  /** `isAllowed` is the decision of the page; a hidden page never holds a stream. */
  constructor(thread: LiveHost, isAllowed: () => boolean) {
    this.#thread = thread;
    this.#isAllowed = () => isAllowed() && !this.#isStopped;
  }

  /** The version of the first list; an open stream is further already. */
  startFrom(version: number): void {
    this.#version = this.#version || version;
  }

  /** Opens or closes the stream. */
  update(): void {
    if (this.#stream) this.#stream.update();
    else if (this.#isAllowed() && !document.hidden && this.#thread.roots.isLoaded) this.#load();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stream?.close();
    this.#arrivals?.stop();
  }

  /** Comments that are shown do not wait behind the button. */
  forget(id: string): void {
    this.#arrivals?.forget(id);
  }

  forgetListed(): void {
    this.#arrivals?.forgetListed();
  }

  /** Without them the list is as it was loaded; the next update tries again. */
  async #load(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      const [{ Arrivals, LiveStream }] = await Promise.all([
        import('./live-parts.ts'),
        this.#thread.complete(),
      ]);
      this.#arrivals = new Arrivals(this.#thread);
      this.#stream = new LiveStream(
        {
          api: this.#thread.api,
          arrivals: this.#arrivals,
          roots: this.#thread.roots,
          setCount: (count) => this.#thread.setCount(count),
          subject: this.#thread.subject,
        },
        this.#isAllowed,
      );
      this.#stream.startFrom(this.#version);
      this.#stream.update();
    } catch {
      this.#isLoading = false;
    }
  }
}
