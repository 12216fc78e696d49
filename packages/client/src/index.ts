/**
 * A client of the HTTP interface of Gailou: `openapi-fetch` with the types of the OpenAPI document, a token, and keys that
 * make a `POST` safe to repeat.
 */

import createClient, { type Client, type ClientOptions } from 'openapi-fetch';
import type { components, paths } from './schema.js';

export type { components, operations, paths } from './schema.js';

type Schemas = components['schemas'];
export type Comment = Schemas['Comment'];
export type CommentPage = Schemas['CommentPage'];
export type Subject = Schemas['Subject'];
/** What an answer without success has, as RFC 9457 says. */
export type Problem = Schemas['Problem'];

export type GailouClient = Client<paths, `${string}/${string}`>;

export interface GailouClientOptions extends Omit<ClientOptions, 'baseUrl'> {
  /** The address of the server: `https://comments.example`. */
  baseUrl: string;
  /** The token of a member or a guest, or what gives one before each call; without it the calls are those of a reader. */
  token?: string | null | (() => string | null | Promise<string | null>);
}

/**
 * `client.GET('/v1/subjects/{type}/{key}/comments', { params: { path: { type: 'article', key: 'hello' } } })` gives
 * `{ data, error, response }`: `data` of a success, or the problem as `error`. It rejects only where no answer came.
 */
export function createGailouClient({ token, ...options }: GailouClientOptions): GailouClient {
  const client = createClient<paths>(options);
  client.use({
    async onRequest({ request }) {
      const current = typeof token === 'function' ? await token() : token;
      if (current && !request.headers.has('Authorization')) {
        request.headers.set('Authorization', `Bearer ${current}`);
      }
      return request;
    },
  });
  return client;
}

/** For the header `Idempotency-Key`: the same key for each repetition of one `POST` makes it one comment. */
export const newIdempotencyKey = (): string => crypto.randomUUID();
