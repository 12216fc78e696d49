/**
 * The comments that others quote and that have no place of their own on the page, as they were last
 * seen, with what the reader did to them since.
 */

import type { QuotedFloor } from '../api/wire.ts';
import type { QuotedComment } from './shown-comment.ts';

export class KnownFloors {
  readonly #withRecentActs: (floor: QuotedComment) => QuotedComment;
  readonly #floors = new Map<string, QuotedComment>();

  constructor(withRecentActs: (floor: QuotedComment) => QuotedComment) {
    this.#withRecentActs = withRecentActs;
  }

  get(id: string): QuotedComment | undefined {
    return this.#floors.get(id);
  }

  /** What a page brings. */
  addQuoted(floors: Readonly<Record<string, QuotedFloor>>): void {
    for (const [id, floor] of Object.entries(floors)) {
      this.add({ ...floor, id, content: '', media: floor.media ?? [] });
    }
  }

  add(comment: QuotedComment): void {
    this.#floors.set(comment.id, this.#withRecentActs(comment));
  }

  update(id: string, change: (floor: QuotedComment) => QuotedComment): void {
    const floor = this.#floors.get(id);
    if (floor) this.#floors.set(id, change(floor));
  }
}
