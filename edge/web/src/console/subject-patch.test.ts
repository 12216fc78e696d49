import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedFields, formerFields } from './subject-patch.ts';
import type { ModeratedSubject } from './wire.ts';

const SUBJECT: ModeratedSubject = {
  type: 'article',
  key: 'one',
  title: 'One',
  url: null,
  owner_id: '7',
  mode: 'tree',
  state: 'open',
  roots: 1,
  comments: 2,
  last_activity: null,
};

test('only what was changed in the form is sent', () => {
  const form = { title: 'One', url: null, owner_id: null, mode: 'building' } as const;
  assert.deepEqual(changedFields(SUBJECT, form), { owner_id: null, mode: 'building' });
  assert.deepEqual(changedFields(SUBJECT, { ...form, owner_id: '7', mode: 'tree' }), {});
});

test('a change is taken back field by field', () => {
  const former = formerFields(SUBJECT, { state: 'hidden', owner_id: null });
  assert.deepEqual(former, { state: 'open', owner_id: '7' });
});
