/** The one error of the API: an answer that is no success, or no answer at all. */

import type { Challenge, FieldError } from './wire.ts';

interface ProblemFields {
  status?: number;
  code?: string;
  detail?: string;
  errors?: FieldError[];
  challenge?: Challenge | null;
  retryAfterMs?: number;
}

const NO_ANSWER: Required<ProblemFields> = {
  status: 0,
  code: 'network',
  detail: '',
  errors: [],
  challenge: null,
  retryAfterMs: 0,
};

export class ApiProblem extends Error {
  /** The HTTP status; 0 when no answer came. */
  declare readonly status: number;
  /** The contract's code; `network` when no answer came. */
  declare readonly code: string;
  declare readonly detail: string;
  declare readonly errors: FieldError[];
  /** What to answer before the same request is sent again. */
  declare readonly challenge: Challenge | null;
  /** How long the server asks to wait; 0 when it asks nothing. */
  declare readonly retryAfterMs: number;

  constructor(fields: ProblemFields) {
    super(fields.detail || fields.code);
    Object.assign(this, NO_ANSWER, fields);
  }
}
