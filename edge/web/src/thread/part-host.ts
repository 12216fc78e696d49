/** What the parts of a thread above its comments share. Only types: `CommentThread` has the values. */

import type { ApiProblem } from '../api/problem.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import type { ThreadFrame } from './frame.ts';
import type { ShownComments } from './shown-comments.ts';

export interface ThreadPartHost extends ThreadContext {
  readonly frame: ThreadFrame;
  readonly comments: ShownComments;
  setCount(count: number): void;
  /** Shows the sentence of an empty list, or hides it. */
  updateEmpty(): void;
  /** An event of the element; it leaves the shadow tree. */
  emit(name: string, detail: unknown): void;
  /** The event of a problem that the reader is shown. */
  emitProblem(problem: ApiProblem): void;
}
