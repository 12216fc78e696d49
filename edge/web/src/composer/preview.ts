/** What a text becomes when it is posted: the server's own HTML. */

import type { ApiClient } from '../api/client.ts';
import { createNamelessGuest, previewText } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { tabStorage } from '../util/json-storage.ts';
import { keepIn } from '../util/keep.ts';

/**
 * Rejects with an `ApiProblem`. The server asks who is asking: who has no identity yet is a guest without a name for this
 * alone, and stays a stranger everywhere else.
 */
export async function fetchPreview(api: ApiClient, content: string): Promise<string> {
  if (api.token) return (await previewText(api, content)).data.html;
  const key = `gailou:nameless:${api.base}`;
  const kept = tabStorage.get<string>(key);
  if (kept) {
    try {
      return (await previewText(api, content, kept)).data.html;
    } catch (problem) {
      if (!(problem instanceof ApiProblem) || problem.status !== 401) throw problem;
    }
  }
  const { token } = (await createNamelessGuest(api)).data;
  keepIn(tabStorage, key, token);
  return (await previewText(api, content, token)).data.html;
}
