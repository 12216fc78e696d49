import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  changedSince,
  fieldsOf,
  patchOf,
  rebased,
  typedList,
  typedNumber,
} from './settings-form.ts';
import type { SettingValue } from './wire.ts';

const SETTINGS = {
  sites: ['https://a.example'],
  rules: {
    guests: 'allowed',
    max_links: null,
    hold_first_guest_comment: false,
    blocked: { names: [] },
  },
  limits: { enabled: true, posts_per_minute_member: 5 },
  tokens: { not_before: null },
};

test('each setting is a field of its kind', () => {
  const kinds = fieldsOf(SETTINGS).map(({ name, kind }) => `${name} ${kind}`);
  assert.deepEqual(kinds, [
    'sites list',
    'rules.guests choice',
    'rules.max_links number',
    'rules.hold_first_guest_comment switch',
    'rules.blocked.names list',
    'limits.enabled switch',
    'limits.posts_per_minute_member number',
    'tokens.not_before time',
  ]);
});

test('what is changed while the rest is saved stays changed', () => {
  const saved = new Map<string, SettingValue>([
    ['a', 1],
    ['b', true],
  ]);
  const now = new Map(saved).set('b', false).set('c', null);
  assert.deepEqual(
    [...changedSince(now, saved)],
    [
      ['b', false],
      ['c', null],
    ],
  );
});

test('what someone else has changed meanwhile stays', () => {
  const settings = (names: string[], max_links: number) =>
    fieldsOf({ rules: { blocked: { names }, max_links, guests: 'off' } });
  const changed = new Map<string, SettingValue>([
    ['rules.blocked.names', ['a', 'mine']],
    ['rules.max_links', 3],
    ['rules.guests', 'held'],
  ]);
  const after = rebased(changed, settings(['a', 'b', 'c'], 1), settings(['a', 'c', 'theirs'], 2));
  assert.deepEqual(
    [...after],
    [
      ['rules.blocked.names', ['a', 'theirs', 'mine']],
      ['rules.guests', 'held'],
    ],
  );
});

test('the patch has what was changed and nothing else', () => {
  const changed = new Map<string, SettingValue>([
    ['rules.max_links', 3],
    ['rules.blocked.names', ['x']],
    ['limits.enabled', true],
    ['sites', ['https://a.example']],
  ]);
  assert.deepEqual(patchOf(fieldsOf(SETTINGS), changed), {
    rules: { max_links: 3, blocked: { names: ['x'] } },
  });
  assert.equal(patchOf(fieldsOf(SETTINGS), new Map()), null);
});

test('an empty number is none, and empty lines are no entries', () => {
  assert.deepEqual([typedNumber(' '), typedNumber('7')], [null, 7]);
  assert.deepEqual(typedList(' a \n\n b'), ['a', 'b']);
});
