/** What moderators change of a thread by a form, and what takes a change back. Pure. */

import type { SubjectMode } from '../api/wire.ts';
import type { ModeratedSubject, SubjectPatch } from './wire.ts';

export const SUBJECT_MODES: readonly SubjectMode[] = ['tree', 'two_level', 'flat', 'building'];

/** The fields of the form. */
export type SubjectForm = Pick<ModeratedSubject, 'title' | 'url' | 'owner_id' | 'mode'>;

/** The fields of the form that differ from the thread. */
export function changedFields(subject: ModeratedSubject, form: SubjectForm): SubjectPatch {
  return Object.fromEntries(
    Object.entries(form).filter(([field, value]) => value !== subject[field as keyof SubjectForm]),
  );
}

/** What sets the fields of a patch to what they were before it. */
export function formerFields(before: ModeratedSubject, patch: SubjectPatch): SubjectPatch {
  const fields = Object.keys(patch) as (keyof SubjectPatch)[];
  return Object.fromEntries(fields.map((field) => [field, before[field]]));
}
