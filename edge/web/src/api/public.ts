/** Calls that need no reader: what they answer is the same for everyone. The element's first script makes none of them. */

import { subjectPath } from './paths.ts';
import { sendRequest } from './request.ts';
import type { ApiAnswer } from './transport.ts';
import type { Comment, LatestComment, SubjectCounts, SubjectPage } from './wire.ts';

/** By the name of the subject; at most 100 names. */
export function fetchCounts(
  base: string,
  subjects: readonly string[],
): Promise<ApiAnswer<{ data: Record<string, SubjectCounts> }>> {
  const query = new URLSearchParams(subjects.map((subject) => ['subject', subject]));
  return sendRequest({ method: 'GET', url: `${base}/v1/counts?${query}` });
}

/** The newest comments of all subjects, or of those of one type. */
export function fetchLatest(
  base: string,
  limit: number,
  type: string | null,
): Promise<ApiAnswer<{ data: LatestComment[] }>> {
  const query = new URLSearchParams({ limit: String(limit), ...(type ? { type } : {}) });
  return sendRequest({ method: 'GET', url: `${base}/v1/latest?${query}` });
}

/** The text of a comment as it was written. */
export async function fetchWritten(base: string, id: string): Promise<string> {
  const url = `${base}/v1/comments/${id}`;
  return (await sendRequest<Comment>({ method: 'GET', url })).data.content;
}

export function fetchSubject(base: string, name: string): Promise<ApiAnswer<SubjectPage>> {
  return sendRequest({ method: 'GET', url: base + subjectPath(name) });
}

/** The comments of a subject as a page without JavaScript. */
export const plainPageUrl = (base: string, name: string): string =>
  base + subjectPath(name).replace('/v1/subjects/', '/t/');
