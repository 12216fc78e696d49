/** Reads of the HTTP contract. What sends more than an address is in `send.ts`. */

import { ApiProblem } from './problem.ts';
import { type ApiAnswer, fetchJson } from './transport.ts';
import type { Page, Sort } from './wire.ts';

const READ_TIMEOUT_MS = 20_000;

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
  findModeratorToken(): Promise<string | null>;
}

export class ApiClient {
  /** The address of the server, without a slash at the end. */
  readonly base: string;
  readonly #tokens: ReaderTokens;
  /** Is asked for another token when the server refuses one; says whether there is one. */
  readonly renew: (() => Promise<boolean>) | undefined;

  constructor(base: string, tokens: ReaderTokens, renew?: () => Promise<boolean>) {
    this.base = base;
    this.#tokens = tokens;
    this.renew = renew;
  }

  get token(): string | null {
    return this.#tokens.token;
  }

  /**
   * Without a token, as every cache has the answer. When it is that the subject is hidden, or 404, a
   * moderator's read is sent once more with the token, which no cache answers.
   */
  async read<Data>(
    path: string,
    { pastCaches, signal }: ReadOptions = {},
  ): Promise<ApiAnswer<Data>> {
    const read = (token?: string) => {
      const headers: HeadersInit = token ? { Authorization: `Bearer ${token}` } : {};
      // `reload` sends `Cache-Control: no-cache`, and the request still needs no preflight.
      const cache = pastCaches ? 'reload' : 'default';
      return fetchJson<Data>(
        this.base + path,
        { headers, cache, signal: signal ?? null },
        READ_TIMEOUT_MS,
      );
    };
    const shared = read();
    const isHidden = await shared.then(({ data }) => isOfHiddenSubject(data), isNotFound);
    const token = isHidden ? await this.#tokens.findModeratorToken() : null;
    if (!token) return shared;
    return read(token).catch(() => shared);
  }
}

const isOfHiddenSubject = (data: unknown) =>
  (data as Partial<Page> | null)?.subject?.state === 'hidden';

const isNotFound = (problem: unknown) => problem instanceof ApiProblem && problem.status === 404;
