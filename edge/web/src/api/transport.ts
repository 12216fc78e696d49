/** One answer: JSON, a time limit, and `ApiProblem` for everything but a success. */

import { ApiProblem } from './problem.ts';

export interface ApiAnswer<Data> {
  data: Data;
  /** A saved copy, because the origin does not answer. */
  isStale: boolean;
}

/**
 * Rejects with an `ApiProblem`, or with the abort of `signal`. `Data` is what the contract says
 * about the call; the answer is not checked against it.
 */
export async function fetchJson<Data>(
  url: string,
  init: RequestInit,
  timeoutMs: number,
): Promise<ApiAnswer<Data>> {
  const { response, data } = await answerTo(url, init, timeoutMs);
  if (!response.ok) {
    const part = await import('./problem-from.ts').catch(() => null);
    const { status } = response;
    throw part?.problemFrom(response, data) ?? new ApiProblem({ status, code: 'internal' });
  }
  return {
    data: data as Data,
    isStale: response.headers.get('X-Gailou-Stale') === '1',
  };
}

async function answerTo(
  url: string,
  { signal, ...init }: RequestInit,
  timeoutMs: number,
): Promise<{ response: Response; data: unknown }> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  try {
    const response = await fetch(url, { ...init, signal: either });
    return { response, data: parseJson(await response.text()) };
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiProblem({ detail: String(error) });
  }
}

/** Null for what is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
