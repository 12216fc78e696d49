/** `openapi-fetch` with the types of the OpenAPI document, and a token. */

import createClient, { type Client, type ClientOptions } from 'openapi-fetch';
import type { paths } from './schema.js';

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
