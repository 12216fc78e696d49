/** The calls of the HTTP contract that the element makes, one method each. */

import { subjectPath } from './paths.ts';
import { ApiProblem } from './problem.ts';
import { encodeQuery } from './query.ts';
import { type ApiAnswer, type ApiRequest, sendRequest } from './transport.ts';
import type { Comment, Overlay, Page, Sort } from './wire.ts';

export interface ListQuery {
  sort: Sort;
  limit: number;
  cursor?: string;
}

export interface ReadOptions {
  pastCaches?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** The reader's tokens at the time of a call. */
export interface ReaderTokens {
  readonly token: string | null;
  /** The token, when it says that the reader is a moderator. */
  readonly moderatorToken: string | null;
}

export class ApiClient {
  /** The address of the server, without a slash at the end. */
  readonly base: string;
  readonly #tokens: ReaderTokens;
  readonly #renew: () => Promise<boolean>;

  /** `renew` is asked for another token when the server refuses one; it says whether there is one. */
  constructor(
    base: string,
    tokens: ReaderTokens,
    renew: () => Promise<boolean> = () => Promise.resolve(false),
  ) {
    this.base = base;
    this.#tokens = tokens;
    this.#renew = renew;
  }

  get token(): string | null {
    return this.#tokens.token;
  }

  listRoots(subject: string, query: ListQuery, options: ReadOptions): Promise<ApiAnswer<Page>> {
    return this.read(`${subjectPath(subject)}/comments?${encodeQuery(query)}`, options);
  }

  /** All descendants of a comment, flat. */
  listReplies(id: string, query: ListQuery, options: ReadOptions): Promise<ApiAnswer<Page>> {
    return this.read(`/v1/comments/${id}/replies?${encodeQuery(query)}`, options);
  }

  /** A comment as its author sees it. */
  ownComment(id: string): Promise<ApiAnswer<Comment>> {
    return this.send('GET', `/v1/comments/${id}`);
  }

  /** At most 400 ids. */
  overlay(ids: string[]): Promise<ApiAnswer<Overlay>> {
    return this.send('GET', `/v1/me/overlay?ids=${ids.join(',')}`);
  }

  /**
   * Without a token, as every cache has the answer. When it is that the subject is hidden, or 404, a
   * moderator's read is sent once more with the token, which no cache answers.
   */
  async read<Data>(
    path: string,
    { pastCaches, signal }: ReadOptions = {},
  ): Promise<ApiAnswer<Data>> {
    const request: ApiRequest = { method: 'GET', url: path };
    if (pastCaches) request.pastCaches = true;
    if (signal) request.signal = signal;
    const shared = this.request<Data>(request);
    const isHidden = await shared.then(({ data }) => isOfHiddenSubject(data), isNotFound);
    const token = this.#tokens.moderatorToken;
    if (!isHidden || !token) return shared;
    return this.request<Data>({ ...request, token }).catch(() => shared);
  }

  /** With the reader's token; once more with another one where the server refuses it, having done nothing. */
  async send<Data>(
    method: ApiRequest['method'],
    path: string,
    options: Pick<ApiRequest, 'body' | 'idempotencyKey' | 'challengeAnswer' | 'keepalive'> = {},
  ): Promise<ApiAnswer<Data>> {
    const send = () =>
      this.request<Data>({ method, url: path, token: this.#tokens.token, ...options });
    try {
      return await send();
    } catch (problem) {
      const isRefused = problem instanceof ApiProblem && problem.status === 401;
      if (isRefused && (await this.#renew())) return send();
      throw problem;
    }
  }

  /** Without a token, unless the request has one. */
  request<Data>(request: ApiRequest): Promise<ApiAnswer<Data>> {
    const sent = sendRequest<Data>({ ...request, url: this.base + request.url });
    return request.method === 'GET' ? sent : this.explained(sent);
  }

  /** A write that gets no answer says whether the site is why. */
  explained<Answer>(sent: Promise<Answer>): Promise<Answer> {
    return sent.catch(async (problem) => {
      const explained = import('./site-check.ts').then(({ explainSilence }) =>
        explainSilence(problem, this.base),
      );
      throw await explained.catch(() => problem);
    });
  }
}

const isOfHiddenSubject = (data: unknown) =>
  (data as Partial<Page> | null)?.subject?.state === 'hidden';

const isNotFound = (problem: unknown) => problem instanceof ApiProblem && problem.status === 404;
