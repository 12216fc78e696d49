import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subjectPath } from './paths.ts';
import { parseSubjectName, subjectNameOf } from './subject-name.ts';

for (const [name, path] of [
  ['article/hello', '/v1/subjects/article/hello'],
  ['article/a b', '/v1/subjects/article/a%20b'],
  ['article/a/b', '/v1/subjects/article/a%2Fb'],
  ['article', '/v1/subjects/article/'],
  ['article/楼', '/v1/subjects/article/%E6%A5%BC'],
] as const) {
  test(`path of ${name}`, () => assert.equal(subjectPath(name), path));
}

test('type ends at the first slash', () => {
  assert.deepEqual(parseSubjectName('article/a/b'), { type: 'article', key: 'a/b' });
  assert.equal(subjectNameOf({ type: 'article', key: 'a/b' }), 'article/a/b');
});
