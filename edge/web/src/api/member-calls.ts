/** What a reader does who writes or has an account: the calls of the HTTP contract, one function each. */

import type { ApiClient } from './client.ts';
import { subjectPath } from './paths.ts';
import { encodeQuery } from './query.ts';
import { explained, renewed, request, send } from './send.ts';
import type { ApiAnswer } from './transport.ts';
import { sendFile, type Upload } from './upload.ts';
import type {
  Comment,
  EarlierText,
  Guest,
  Me,
  Media,
  Notifications,
  Overlay,
  Page,
  ReportReason,
  Session,
  SignInLinkRequest,
  SignInProvider,
  WatchedThread,
} from './wire.ts';

/** A guest without a name may react and report. */
export function createGuest(api: ApiClient, name?: string): Promise<ApiAnswer<Guest>> {
  return request(api, { method: 'POST', url: '/v1/guests', body: { name } });
}

/** A guest who may do what needs no name. */
export function createNamelessGuest(api: ApiClient): Promise<ApiAnswer<Guest>> {
  return request(api, { method: 'POST', url: '/v1/guests', body: {} });
}

/** The same guest, with another name. */
export function renameGuest(api: ApiClient, name: string): Promise<ApiAnswer<Guest>> {
  return send(api, 'PATCH', '/v1/guests/me', { body: { name } });
}

export function listProviders(api: ApiClient): Promise<ApiAnswer<{ data: SignInProvider[] }>> {
  return request(api, { method: 'GET', url: '/v1/auth/providers' });
}

/** Where a provider signs the reader in for the page at this origin. */
export function signInUrl(api: ApiClient, provider: string, site: string): string {
  const query = new URLSearchParams({ site });
  return `${api.base}/v1/auth/${encodeURIComponent(provider)}?${query}`;
}

/** Has a link sent to the address, which leads back to the page with the state. */
export function mailSignInLink(api: ApiClient, body: SignInLinkRequest): Promise<ApiAnswer<null>> {
  return request(api, { method: 'POST', url: '/v1/auth/email', body });
}

/** Exchanges the code of a window, or of a mailed link, for a session of this site. */
export function beginSession(api: ApiClient, code: string): Promise<ApiAnswer<Session>> {
  const url = '/v1/auth/session';
  return request(api, { method: 'POST', url, body: { code }, withCookies: true });
}

export function refreshSession(api: ApiClient): Promise<ApiAnswer<Session>> {
  return request(api, { method: 'POST', url: '/v1/auth/refresh', withCookies: true });
}

export function endSession(api: ApiClient): Promise<ApiAnswer<null>> {
  return request(api, { method: 'DELETE', url: '/v1/auth/session', withCookies: true });
}

export function getMe(api: ApiClient): Promise<ApiAnswer<Me>> {
  return send(api, 'GET', '/v1/me');
}

export function changeMe(
  api: ApiClient,
  body: Partial<Pick<Me, 'name' | 'avatar' | 'notify' | 'language'>>,
): Promise<ApiAnswer<Me>> {
  return send(api, 'PATCH', '/v1/me', { body });
}

/** What a guest wrote becomes the reader's, and the guest's token is refused from then on. */
export function mergeGuest(api: ApiClient, guestToken: string): Promise<ApiAnswer<Me>> {
  return send(api, 'POST', '/v1/me/merge', { body: { guest_token: guestToken } });
}

/** Everything that is stored of the reader. */
export function exportMe(api: ApiClient): Promise<ApiAnswer<unknown>> {
  return send(api, 'GET', '/v1/me/export');
}

export function eraseMe(api: ApiClient): Promise<ApiAnswer<null>> {
  return send(api, 'DELETE', '/v1/me');
}

export function listNotifications(
  api: ApiClient,
  query: { limit?: number; cursor?: string },
): Promise<ApiAnswer<Notifications>> {
  return send(api, 'GET', `/v1/me/notifications?${encodeQuery(query)}`);
}

/** Marks this notification as read, and all older ones. */
export function readNotifications(api: ApiClient, upTo: string): Promise<ApiAnswer<null>> {
  return send(api, 'POST', '/v1/me/notifications/read', { body: { up_to: upTo } });
}

export function getWatch(
  api: ApiClient,
  subject: string,
): Promise<ApiAnswer<{ watching: boolean }>> {
  return send(api, 'GET', `${subjectPath(subject)}/watch`);
}

/** Has the reader notified of new comments in the subject, or not any more. */
export function setWatch(
  api: ApiClient,
  subject: string,
  isWatching: boolean,
): Promise<ApiAnswer<null>> {
  return send(api, isWatching ? 'PUT' : 'DELETE', `${subjectPath(subject)}/watch`);
}

export function listWatches(
  api: ApiClient,
  query: { cursor?: string },
): Promise<ApiAnswer<{ data: WatchedThread[]; page: { next: string | null } }>> {
  return send(api, 'GET', `/v1/me/watches?${encodeQuery(query)}`);
}

export function postComment(
  api: ApiClient,
  subject: string,
  body: { content: string; parent_id?: string; mentions?: string[]; media?: string[] },
  idempotencyKey: string,
  challengeAnswer?: string,
): Promise<ApiAnswer<Comment>> {
  const options = { body, idempotencyKey, challengeAnswer };
  return send(api, 'POST', `${subjectPath(subject)}/comments`, options);
}

/** The HTML that a text becomes; without a token, with that of the reader. */
export function previewText(
  api: ApiClient,
  content: string,
  token?: string,
): Promise<ApiAnswer<{ html: string }>> {
  const call = { method: 'POST', url: '/v1/preview', body: { content } } as const;
  return token ? request(api, { ...call, token }) : send(api, call.method, call.url, call);
}

export function uploadPicture(api: ApiClient, upload: Omit<Upload, 'token'>): Promise<Media> {
  const address = `${api.base}/v1/media`;
  return renewed(api, () => explained(api, sendFile(address, { ...upload, token: api.token })));
}

export function editComment(
  api: ApiClient,
  id: string,
  content: string,
  challengeAnswer?: string,
): Promise<ApiAnswer<Comment>> {
  return send(api, 'PATCH', `/v1/comments/${id}`, { body: { content }, challengeAnswer });
}

export function deleteComment(
  api: ApiClient,
  id: string,
  { keepalive = false } = {},
): Promise<ApiAnswer<null>> {
  return send(api, 'DELETE', `/v1/comments/${id}`, { keepalive });
}

/** A second report of the same reader changes nothing. */
export function reportComment(
  api: ApiClient,
  id: string,
  body: { reason: ReportReason; note?: string },
  challengeAnswer?: string,
): Promise<ApiAnswer<null>> {
  return send(api, 'POST', `/v1/comments/${id}/reports`, { body, challengeAnswer });
}

/** As readers saw them, the first one first. */
export function listEarlierTexts(
  api: ApiClient,
  id: string,
): Promise<ApiAnswer<{ data: EarlierText[] }>> {
  return request(api, { method: 'GET', url: `/v1/comments/${id}/history` });
}

/** What a member has written for all readers, the newest first. */
export function listMemberComments(
  api: ApiClient,
  id: string,
  limit: number,
  cursor?: string,
): Promise<ApiAnswer<Pick<Page, 'page'> & { data: Comment[] }>> {
  const query = encodeQuery(cursor ? { limit, cursor } : { limit });
  return request(api, { method: 'GET', url: `/v1/members/${id}/comments?${query}` });
}

/** A comment as its author sees it. */
export function ownComment(api: ApiClient, id: string): Promise<ApiAnswer<Comment>> {
  return send(api, 'GET', `/v1/comments/${id}`);
}

/** At most 400 ids. */
export function fetchOverlay(api: ApiClient, ids: string[]): Promise<ApiAnswer<Overlay>> {
  return send(api, 'GET', `/v1/me/overlay?ids=${ids.join(',')}`);
}
