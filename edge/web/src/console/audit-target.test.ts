import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetOf } from './audit-target.ts';
import type { AuditRecord } from './wire.ts';

const record = (kind: string, id: string, more: Partial<AuditRecord> = {}): AuditRecord => ({
  id: '1',
  at: 0,
  actor: { id: '900', name: 'Ada' },
  action: 'hide',
  target: { kind, id },
  reason: null,
  before: null,
  after: null,
  ...more,
});

test('an entry leads to what it is about', () => {
  const cases: [AuditRecord, string | undefined][] = [
    [record('comment', '7'), '#/comments/7'],
    [record('member', '8'), '#/members/8'],
    [record('subject', 'article/a b'), '#/subjects?q=article%2Fa+b'],
    [record('settings', ''), '#/settings'],
    [record('import', ''), '#/transfer'],
    [record('webhook', '9', { action: 'add_webhook' }), '#/webhooks/9'],
    [record('webhook', '9', { action: 'remove_webhook' }), '#/webhooks'],
    [record('words', ''), '#/words'],
    [record('planet', '3'), undefined],
  ];
  for (const [entry, expected] of cases) {
    assert.equal(targetOf(entry)?.href, expected, entry.target.kind);
  }
});

test('a change of one term leads to that term, one of several to the dictionary', () => {
  const changed = (added: unknown[], removed: unknown[]) =>
    targetOf(record('words', '', { before: { version: 1 }, after: { added, removed } }));
  const term = { term: 'tulip', category: 'flowers', action: 'review' };
  assert.equal(changed([term], [])?.href, '#/words?q=tulip');
  assert.equal(changed([], ['tulip'])?.name, 'tulip');
  assert.equal(changed([term], ['peony'])?.href, '#/words');
});
