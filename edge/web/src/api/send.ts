/** Calls of the HTTP contract that have a body or the reader's token. They are loaded when the reader does something. */

import type { ApiClient } from './client.ts';
import { ApiProblem } from './problem.ts';
import { type ApiRequest, sendRequest } from './request.ts';
import type { ApiAnswer } from './transport.ts';

/** With the reader's token; once more with another one where the server refuses it, having done nothing. */
export function send<Data>(
  api: ApiClient,
  method: ApiRequest['method'],
  path: string,
  options: Pick<ApiRequest, 'body' | 'idempotencyKey' | 'challengeAnswer' | 'keepalive'> = {},
): Promise<ApiAnswer<Data>> {
  return renewed(api, () => request(api, { method, url: path, token: api.token, ...options }));
}

/** What a call with the reader's token gives, made once more with another one where the server refuses that. */
export async function renewed<Answer>(
  api: ApiClient,
  attempt: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await attempt();
  } catch (problem) {
    const isRefused = problem instanceof ApiProblem && problem.status === 401;
    if (isRefused && (await api.renew?.())) return attempt();
    throw problem;
  }
}

/** Without a token, unless the request has one. */
export function request<Data>(api: ApiClient, call: ApiRequest): Promise<ApiAnswer<Data>> {
  const sent = sendRequest<Data>({ ...call, url: api.base + call.url });
  return call.method === 'GET' ? sent : explained(api, sent);
}

/** A write that gets no answer says whether the site is why. */
export function explained<Answer>(api: ApiClient, sent: Promise<Answer>): Promise<Answer> {
  return sent.catch(async (problem) => {
    const reason = import('./site-check.ts').then(({ explainSilence }) =>
      explainSilence(problem, api.base),
    );
    throw await reason.catch(() => problem);
  });
}
