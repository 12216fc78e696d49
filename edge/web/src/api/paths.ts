/** The paths of the contract that begin with a subject. */

/** `article/a b` → `/v1/subjects/article/a%20b`. The type ends at the first slash; the key may have more of them. */
export function subjectPath(name: string): string {
  const [type = '', ...key] = name.split('/');
  return `/v1/subjects/${encodeURIComponent(type)}/${encodeURIComponent(key.join('/'))}`;
}
