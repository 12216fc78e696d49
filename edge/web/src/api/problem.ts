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

export class ApiProblem extends Error {
  /** The HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The contract's code; `network` when no answer came. */
  readonly code: string;
  readonly detail: string;
  readonly errors: FieldError[];
  /** What to answer before the same request is sent again. */
  readonly challenge: Challenge | null;
  /** How long the server asks to wait; 0 when it asks nothing. */
  readonly retryAfterMs: number;

  constructor({
    status = 0,
    code = 'network',
    detail = '',
    errors = [],
    challenge = null,
    retryAfterMs = 0,
  }: ProblemFields) {
    super(detail || code);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.errors = errors;
    this.challenge = challenge;
    this.retryAfterMs = retryAfterMs;
  }
}
