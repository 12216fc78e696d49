/** `article/a/b` is the key `a/b` of the type `article`: the type ends at the first slash. */
export function subjectPath(subject: string): { type: string; key: string } {
  const [type = '', ...key] = subject.split('/');
  return { type, key: key.join('/') };
}
