/** Reads what an answer says that is no success. It is loaded with the first of them. */

import { parseRetryAfterMs } from '../../../../packages/client/src/retry-after.ts';
import { ApiProblem } from './problem.ts';
import type { ProblemBody } from './wire.ts';

/** What is read of an answer beside its body. */
interface AnswerHead {
  readonly status: number;
  readonly headers: Pick<Headers, 'get'>;
}

/** The problem that an answer describes; an answer without a description gets a code by its status. */
export function problemFrom(response: AnswerHead, data: unknown): ApiProblem {
  const body = (data ?? {}) as ProblemBody;
  const fallback = response.status >= 502 ? 'unavailable' : 'internal';
  return new ApiProblem({
    status: response.status,
    code: body.code || fallback,
    detail: body.detail || body.title || '',
    errors: Array.isArray(body.errors) ? body.errors : [],
    challenge: body.challenge ?? null,
    retryAfterMs: parseRetryAfterMs(response.headers.get('Retry-After')),
  });
}
