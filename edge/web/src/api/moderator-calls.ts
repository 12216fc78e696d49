/** What a moderator does beside a comment: the calls of the HTTP contract, one function each. */

import type { ApiClient } from './client.ts';
import { send } from './send.ts';
import type { ApiAnswer } from './transport.ts';
import type { Comment } from './wire.ts';

export type CommentDecision = 'hide' | 'reject' | 'feature' | 'unfeature';

/** The comment after the decision, which has a number to undo it by. */
export function decideComment(
  api: ApiClient,
  id: string,
  action: CommentDecision,
): Promise<ApiAnswer<Comment & { audit_id: string }>> {
  return send(api, 'POST', `/v1/admin/comments/${id}/decision`, { body: { action } });
}

export function undoDecision(api: ApiClient, auditId: string): Promise<ApiAnswer<Comment>> {
  return send(api, 'POST', `/v1/admin/audit/${auditId}/undo`);
}

/** The owner of the subject may do it too. */
export function setPin(api: ApiClient, id: string, isPinned: boolean): Promise<ApiAnswer<Comment>> {
  return send(api, isPinned ? 'PUT' : 'DELETE', `/v1/comments/${id}/pin`);
}

/** Until when a member may not write; null for one who may. */
export function findMute(
  api: ApiClient,
  id: string,
): Promise<ApiAnswer<{ muted_until: number | null }>> {
  return send(api, 'GET', `/v1/admin/members/${id}`);
}

export function setMute(
  api: ApiClient,
  id: string,
  mutedUntil: number | null,
): Promise<ApiAnswer<unknown>> {
  return send(api, 'PUT', `/v1/admin/members/${id}`, { body: { muted_until: mutedUntil } });
}
