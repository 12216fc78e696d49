/** One HTTP request of any kind: JSON in, JSON out. The first list needs none of it. */

import { type ApiAnswer, fetchJson } from './transport.ts';

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

/** Rejects as `fetchJson` does. */
export function sendRequest<Data>(request: ApiRequest): Promise<ApiAnswer<Data>> {
  const { method, url, body, signal, pastCaches, withCookies, keepalive = false } = request;
  const init: RequestInit = {
    method,
    headers: headersOf(request),
    body: body === undefined ? null : JSON.stringify(body),
    cache: pastCaches ? 'reload' : 'default',
    credentials: withCookies ? 'include' : 'same-origin',
    keepalive,
  };
  if (signal) init.signal = signal;
  return fetchJson(url, init, method === 'GET' ? READ_TIMEOUT_MS : WRITE_TIMEOUT_MS);
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
