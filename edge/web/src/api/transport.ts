/** One HTTP request: JSON in, JSON out, a time limit, and `ApiProblem` for everything but a success. */

import { ApiProblem, problemFrom } from './problem.ts';

const READ_TIMEOUT_MS = 20_000;
const WRITE_TIMEOUT_MS = 15_000;

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  body?: unknown;
  token?: string | null;
  idempotencyKey?: string;
  /** The answer to a challenge. */
  challengeAnswer?: string | undefined;
  /** The version that a change expects. */
  ifMatch?: string;
  /** Asks every cache on the way to revalidate. */
  pastCaches?: boolean;
  signal?: AbortSignal;
  /** Is sent also when the page is left. */
  keepalive?: boolean | undefined;
  /** Sends the cookies of the server. */
  withCookies?: boolean;
}

export interface ApiAnswer<Data> {
  data: Data;
  /** A saved copy, because the origin does not answer. */
  isStale: boolean;
}

/**
 * Rejects with an `ApiProblem`, or with the abort of `signal`. `Data` is what the contract says
 * about the call; the answer is not checked against it.
 */
export async function sendRequest<Data>(request: ApiRequest): Promise<ApiAnswer<Data>> {
  const { response, data } = await fetchJson(request);
  if (!response.ok) throw problemFrom(response, data);
  return {
    data: data as Data,
    isStale: response.headers.get('X-Gailou-Stale') === '1',
  };
}

async function fetchJson(request: ApiRequest): Promise<{ response: Response; data: unknown }> {
  const { method, url, body, signal, pastCaches, withCookies, keepalive = false } = request;
  const timeout = new AbortController();
  const abort = () => timeout.abort();
  const timer = setTimeout(abort, method === 'GET' ? READ_TIMEOUT_MS : WRITE_TIMEOUT_MS);
  signal?.addEventListener('abort', abort);
  try {
    const response = await fetch(url, {
      method,
      headers: headersOf(request),
      body: body === undefined ? null : JSON.stringify(body),
      // `reload` sends `Cache-Control: no-cache`, and the request still needs no preflight.
      cache: pastCaches ? 'reload' : 'default',
      credentials: withCookies ? 'include' : 'same-origin',
      keepalive,
      signal: timeout.signal,
    });
    return { response, data: parseJson(await response.text()) };
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiProblem({ detail: error instanceof Error ? error.message : String(error) });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

function headersOf(request: ApiRequest): Record<string, string> {
  const { body, token, idempotencyKey, challengeAnswer, ifMatch } = request;
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (idempotencyKey) headers['Idempotency-Key'] = idempotencyKey;
  if (challengeAnswer) headers['X-Gailou-Challenge'] = challengeAnswer;
  if (ifMatch) headers['If-Match'] = ifMatch;
  if (token) headers.Authorization = `Bearer ${token}`;
  return headers;
}

/** Null for what is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
