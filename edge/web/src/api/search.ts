/** The search in a thread. */

import type { ApiClient } from './client.ts';
import { subjectPath } from './paths.ts';
import { encodeQuery } from './query.ts';
import { request } from './send.ts';
import type { ApiAnswer } from './transport.ts';
import type { ListedComment } from './wire.ts';

/** A comment that was found. */
export interface FoundComment extends ListedComment {
  /** The passage that was found, with `<mark>` around each word, as HTML. */
  highlight: string;
}

export interface FoundPage {
  data: FoundComment[];
  page: { next: string | null; has_more: boolean };
}

/** The newest first; `cursor` is `page.next` of the page before. */
export function searchThread(
  api: ApiClient,
  subject: string,
  query: { q: string; limit: number; cursor?: string },
  signal: AbortSignal,
): Promise<ApiAnswer<FoundPage>> {
  const url = `${subjectPath(subject)}/search?${encodeQuery({ ...query, view: 'compact' })}`;
  return request(api, { method: 'GET', url, signal });
}
