import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FOR_EVER_MS,
  formerStanding,
  MUTE_SPANS,
  mutedUntil,
  muteEnd,
  standingPatch,
  typedStanding,
} from './standing.ts';
import type { ModeratedMember } from './wire.ts';

const member = (said: Partial<ModeratedMember> = {}) =>
  ({
    id: '7',
    level: null,
    role: null,
    muted_until: null,
    tokens_not_before: null,
    note: null,
    ...said,
  }) as ModeratedMember;

test('a mute ends after its span, or at the last moment that the server takes', () => {
  const ends = MUTE_SPANS.map((span) => muteEnd(span, 1_000));
  assert.deepEqual(ends, [3_601_000, 86_401_000, 604_801_000, FOR_EVER_MS]);
  assert.equal(new Date(FOR_EVER_MS).toISOString(), '9999-12-31T23:59:59.999Z');
});

test('a mute that is over is none', () => {
  assert.equal(mutedUntil(member(), 5), null);
  assert.equal(mutedUntil(member({ muted_until: 5 }), 5), null);
  assert.equal(mutedUntil(member({ muted_until: 6 }), 5), 6);
});

test('taking back names the same fields, with what was said before', () => {
  const before = member({ level: 3, note: 'kind' });
  assert.deepEqual(formerStanding(before, { muted_until: 9 }), { muted_until: null });
  const all = { level: 1, role: null, note: null, tokens_not_before: 4 };
  const former = { level: 3, role: null, note: 'kind', tokens_not_before: null };
  assert.deepEqual(formerStanding(before, all), former);
});

test('a form changes only what was typed anew', () => {
  const before = member({ level: 3, role: 'moderator', note: 'kind' });
  const typed = typedStanding(before);
  assert.equal(standingPatch(before, typed), null);
  assert.deepEqual(standingPatch(before, { ...typed, note: ' \n' }), { note: null });
  assert.deepEqual(standingPatch(before, { ...typed, level: '', role: '' }), {
    level: null,
    role: null,
  });
  assert.deepEqual(standingPatch(member(), { level: '0', role: 'admin', note: ' a ' }), {
    level: 0,
    role: 'admin',
    note: 'a',
  });
});
