import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiProblem } from '../api/problem.ts';
import { explained, isGone, withoutText, withTextAt } from './rejected-list.ts';
import { TEXTS } from './text.ts';
import type { RefusedText } from './wire.ts';

const problem = (status: number, code: string) => new ApiProblem({ status, code });
const refused = (id: string): RefusedText => ({
  id,
  at: 1,
  kind: 'post',
  subject: { type: 'article', key: '7' },
  parent_id: null,
  comment_id: null,
  author: { id: '7', name: 'Ann', avatar: null, level: 0, guest: false, role: null },
  content: 'text',
  why: [],
  mentions: [],
  visibility: 'everyone',
});

test('a text that is decided leaves the list, and no other', () => {
  const texts = [refused('1'), refused('2'), refused('3')];
  assert.deepEqual(
    withoutText(texts, '2').map(({ id }) => id),
    ['1', '3'],
  );
  assert.equal(withoutText(texts, '4').length, 3);
});

test('a text that is taken back stands where it stood', () => {
  const idsAfter = (texts: RefusedText[], id: string, place: number) =>
    withTextAt(texts, refused(id), place).map((text) => text.id);
  assert.deepEqual(idsAfter([refused('1'), refused('3')], '2', 1), ['1', '2', '3']);
  assert.deepEqual(idsAfter([], '2', 7), ['2']);
  assert.deepEqual(idsAfter([refused('1'), refused('2')], '2', 1), ['1', '2'], 'once');
});

test('what hinders a text is said in a sentence, in both languages', () => {
  for (const text of Object.values(TEXTS)) {
    const cases: [number, string, string | null][] = [
      [404, 'not_found', text.rejectedGone],
      [404, 'parent_not_found', text.rejectedParentGone],
      [404, 'comment_not_found', text.rejectedCommentGone],
      [409, 'subject_closed', text.rejectedClosed],
      [409, 'version_conflict', text.rejectedChanged],
      [503, 'unavailable', null],
    ];
    for (const [status, code, expected] of cases) {
      const { detail } = explained(problem(status, code), text) as ApiProblem;
      assert.equal(detail || null, expected, code);
    }
    const offline = new Error('offline');
    assert.equal(explained(offline, text), offline);
  }
});

test('only a text that is not there is gone', () => {
  assert.equal(isGone(problem(404, 'not_found')), true);
  assert.equal(isGone(problem(404, 'parent_not_found')), false);
  assert.equal(isGone(new Error('offline')), false);
});
