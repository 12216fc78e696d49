/** Names of subjects, and the paths of the contract that begin with them. */

import type { SubjectName } from './wire.ts';

/** `article/hello`, as the attribute `subject` has it. */
export function subjectNameOf(subject: SubjectName): string {
  return `${subject.type}/${subject.key}`;
}

/** The type ends at the first slash; the key may have more of them. */
export function parseSubjectName(name: string): SubjectName {
  const slash = name.indexOf('/');
  if (slash < 0) return { type: name, key: '' };
  return { type: name.slice(0, slash), key: name.slice(slash + 1) };
}

/** `article/a b` → `/v1/subjects/article/a%20b`. */
export function subjectPath(name: string): string {
  const { type, key } = parseSubjectName(name);
  return `/v1/subjects/${encodeURIComponent(type)}/${encodeURIComponent(key)}`;
}
