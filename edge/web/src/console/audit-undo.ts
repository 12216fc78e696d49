/** Which entries of the audit log the server can undo. Pure. */

import type { AuditRecord } from './wire.ts';

/** How long a decision can be undone: a day. */
const UNDO_WINDOW_MS = 86_400_000;

/**
 * Whether an entry may be undone: it is about a comment, of the last day, and `records`, newest first, has no later one
 * about the same comment. What the list does not have may still stand against it.
 */
export function mayUndo(record: AuditRecord, records: readonly AuditRecord[], nowMs: number) {
  const { at, target } = record;
  if (target.kind !== 'comment' || nowMs - at >= UNDO_WINDOW_MS) return false;
  return records.find((other) => isAbout(other, target)) === record;
}

const isAbout = ({ target }: AuditRecord, { kind, id }: AuditRecord['target']) =>
  target.kind === kind && target.id === id;

/** The list with what the server has put on top of it since. */
export function withNewer(records: AuditRecord[], newest: readonly AuditRecord[]): AuditRecord[] {
  const known = new Set(records.map(({ id }) => id));
  return [...newest.filter(({ id }) => !known.has(id)), ...records];
}
