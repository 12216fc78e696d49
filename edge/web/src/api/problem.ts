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

  /** Whether the write may have happened. Only the same idempotency key makes a repetition safe. */
  get isOutcomeUnknown(): boolean {
    return this.status === 0 || [502, 503, 504].includes(this.status);
  }

  /** Whether the same request may succeed later. */
  get isRepeatable(): boolean {
    return this.isOutcomeUnknown || this.status === 429 || this.status >= 500;
  }

  /** The categories of a rejected text, each once, separated by commas. */
  get categories(): string {
    const all = this.errors.map((error) => error.category || error.detail);
    return [...new Set(all)].filter(Boolean).join(', ');
  }

  /** What is wrong with this field of the request; null when nothing is. */
  fieldDetail(name: string): string | null {
    return this.errors.find((error) => error.field === name)?.detail ?? null;
  }
}
