/** What the server says when it refuses a request, as an error to throw. */

import { parseRetryAfterMs } from './retry-after.js';
import type { Problem } from './shapes.js';

/** What a call of the client gives. */
export interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** An answer that is no success. What gets no answer rejects with the error of `fetch`. */
export class GailouError extends Error {
  override readonly name = 'GailouError';
  readonly status: number;
  /** Stable, for a program. An answer that is not Gailou's own, such as that of a proxy, gets one by its status. */
  readonly code: Problem['code'];
  /** What went wrong, for a person; empty where nothing is said. */
  readonly detail: string;
  /** Each wrong field. */
  readonly errors: NonNullable<Problem['errors']>;
  /** How long the server asks to wait; 0 when it asks nothing. */
  readonly retryAfterMs: number;
  /** The whole body, as far as it is a problem. */
  readonly problem: Partial<Problem>;

  constructor({ status, headers }: Response, body: unknown) {
    const problem: Partial<Problem> = typeof body === 'object' && body !== null ? body : {};
    const { code = status >= 502 ? 'unavailable' : 'internal', detail = '', errors = [] } = problem;
    super(`${status} ${code}: ${detail}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.errors = errors;
    this.retryAfterMs = parseRetryAfterMs(headers.get('Retry-After'));
    this.problem = problem;
  }
}

/** The data of a success; throws a `GailouError` for every other answer. */
export function dataOf<Data>({ data, error, response }: Answer<Data>): Data {
  if (!response.ok) throw new GailouError(response, error);
  return data as Data;
}
