/**
 * How others react while the reader reads. The first page is read again now and then, as every cache has it, and its
 * counts are taken alone: nothing moves. A quiet page is read less and less often.
 */

import { firstPageUrl } from '../api/first-page.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Page, Sort } from '../api/wire.ts';
import { jitter, type Timer } from '../util/time.ts';
import type { ThreadPartHost } from './part-host.ts';

/** The wait before each read; doubled while no count has changed, up to the longest. */
const FIRST_WAIT_MS = 30_000;
const MAX_WAIT_MS = 300_000;

export interface MovingCountsHost
  extends Pick<ThreadPartHost, 'api' | 'comments' | 'recent' | 'subject'> {
  readonly sort: Sort;
}

interface Counted {
  readonly id: string;
  readonly likes: number;
  readonly dislikes?: number;
}

export class MovingCounts {
  readonly #thread: MovingCountsHost;
  #waitMs = FIRST_WAIT_MS;
  #timer: Timer | undefined;
  /** Null while it is stopped. */
  #run: AbortController | null = null;

  constructor(thread: MovingCountsHost) {
    this.#thread = thread;
  }

  /** Begins, unless it has begun. */
  start(): void {
    if (this.#run) return;
    this.#run = new AbortController();
    this.#waitMs = FIRST_WAIT_MS;
    this.#wait(this.#run.signal);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#run?.abort();
    this.#run = null;
  }

  #wait(signal: AbortSignal): void {
    this.#timer = setTimeout(() => this.#read(signal), jitter(this.#waitMs));
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { api, sort, subject } = this.#thread;
    let hasMoved = false;
    try {
      const answer = await api.read<Page>(firstPageUrl(subject, sort), { signal });
      if (signal.aborted) return;
      hasMoved = !answer.isStale && this.#show(answer.data);
    } catch (problem) {
      if (signal.aborted) return;
      if (!(problem instanceof ApiProblem)) throw problem;
    }
    this.#waitMs = hasMoved ? FIRST_WAIT_MS : Math.min(2 * this.#waitMs, MAX_WAIT_MS);
    this.#wait(signal);
  }

  /** Shows the counts of the page; whether one has changed. */
  #show({ data, floors, subject }: Page): boolean {
    const listed = [...subject.pinned, ...data].flatMap((root) => [
      root,
      ...(root.top_replies ?? []),
    ]);
    const quoted = Object.entries(floors ?? {}).map(([id, { likes }]) => ({ id, likes }));
    const counted: Counted[] = [...listed, ...quoted];
    const moved = counted.filter((counted) => this.#hasMoved(counted));
    for (const { id, likes, dislikes } of moved) {
      const counts = { likes, ...(dislikes !== undefined && { dislikes }) };
      this.#thread.comments.updateEach(id, (comment) =>
        this.#thread.recent.applyTo({ ...comment, ...counts }),
      );
    }
    return moved.length > 0;
  }

  #hasMoved({ id, likes, dislikes }: Counted): boolean {
    const shown: Counted | undefined = this.#thread.comments.floorOf(id);
    if (!shown) return false;
    return shown.likes !== likes || (dislikes !== undefined && shown.dislikes !== dislikes);
  }
}
