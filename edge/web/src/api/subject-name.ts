/** Names of subjects. */

import type { SubjectName } from './wire.ts';

/** `article/hello`, as the attribute `subject` has it. */
export function subjectNameOf(subject: SubjectName): string {
  return `${subject.type}/${subject.key}`;
}

/** The type ends at the first slash; the key may have more of them. */
export function parseSubjectName(name: string): SubjectName {
  const [type = '', ...key] = name.split('/');
  return { type, key: key.join('/') };
}
