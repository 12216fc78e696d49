/**
 * The event stream of a thread: when it is open, after which version it starts, and when it is
 * opened again. `arrivals.ts` decides what an event means.
 */

import { eventsUrl } from '../api/place-calls.ts';
import { parseJson } from '../api/transport.ts';
import { jitter, type Timer } from '../util/time.ts';
import type { Arrivals } from './arrivals.ts';
import type { ThreadPartHost } from './part-host.ts';

/** The wait after a refused stream; doubled each time, up to the longest. */
const FIRST_RECONNECT_WAIT_MS = 15_000;
const MAX_RECONNECT_WAIT_MS = 300_000;

export interface LiveStreamHost extends Pick<ThreadPartHost, 'api' | 'setCount' | 'subject'> {
  readonly arrivals: Arrivals;
  readonly roots: LoadedList;
}

interface LoadedList {
  readonly isLoaded: boolean;
}

interface EventData {
  id?: string;
  parent_id?: string | null;
  comments?: number;
}

export class LiveStream {
  readonly #thread: LiveStreamHost;
  readonly #isAllowed: () => boolean;
  /** The version of the subject that the list shows, or of the last event. */
  #version = 0;
  #reconnectWaitMs = FIRST_RECONNECT_WAIT_MS;
  #reconnectTimer: Timer | undefined;
  #stream: EventSource | null = null;

  /** `isAllowed` is the decision of the page; a hidden page never holds a stream. */
  constructor(thread: LiveStreamHost, isAllowed: () => boolean) {
    this.#thread = thread;
    this.#isAllowed = isAllowed;
  }

  /** The version of the first list; an open stream is further already. */
  startFrom(version: number): void {
    this.#version = this.#version || version;
  }

  /** Opens or closes the stream; whether it is of use. */
  update(): boolean {
    const isUseful =
      this.#isAllowed() && !document.hidden && this.#thread.roots.isLoaded && !!window.EventSource;
    if (!isUseful) this.close();
    else if (!this.#stream) this.#open();
    return isUseful;
  }

  close(): void {
    clearTimeout(this.#reconnectTimer);
    this.#stream?.close();
    this.#stream = null;
  }

  #open(): void {
    const { api, arrivals, subject } = this.#thread;
    const stream = new EventSource(eventsUrl(api, subject, this.#version));
    this.#listen(stream, 'comment', ({ id, parent_id }) => id && arrivals.onComment(id, parent_id));
    this.#listen(stream, 'counts', ({ comments }) => {
      if (typeof comments === 'number') this.#thread.setCount(comments);
    });
    this.#listen(stream, 'removed', ({ id }) => id && arrivals.onRemoved(id));
    this.#listen(stream, 'reset', () => arrivals.onReset());
    stream.addEventListener('error', () => this.#onError(stream));
    this.#stream = stream;
  }

  #listen(stream: EventSource, name: string, action: (data: EventData) => unknown): void {
    stream.addEventListener(name, (event: MessageEvent<string>) => {
      this.#version = Number(event.lastEventId) || this.#version;
      this.#reconnectWaitMs = FIRST_RECONNECT_WAIT_MS;
      action((parseJson(event.data) ?? {}) as EventData);
    });
  }

  /** The browser reopens a broken stream itself; a refused one stays closed until the timer ends. */
  #onError(stream: EventSource): void {
    if (stream.readyState !== EventSource.CLOSED || stream !== this.#stream) return;
    this.close();
    this.#reconnectTimer = setTimeout(() => this.update(), jitter(this.#reconnectWaitMs));
    this.#reconnectWaitMs = Math.min(2 * this.#reconnectWaitMs, MAX_RECONNECT_WAIT_MS);
  }
}
