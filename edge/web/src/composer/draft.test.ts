import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tabStorage } from '../util/json-storage.ts';
import { ComposerDraft } from './draft.ts';

let scopes = 0;

function newScope(): string {
  scopes += 1;
  return `test-${scopes}`;
}

test('same content keeps its key', () => {
  const draft = new ComposerDraft(tabStorage, newScope());
  const key = draft.keyFor('hello');
  assert.equal(draft.keyFor('hello'), key);
  assert.notEqual(draft.keyFor('hello!'), key);
});

test('key survives a reload', () => {
  const scope = newScope();
  const before = new ComposerDraft(tabStorage, scope);
  const key = before.keyFor('hello');
  before.save('hello ');
  const after = new ComposerDraft(tabStorage, scope);
  assert.equal(after.restore(), 'hello ');
  assert.equal(after.keyFor('hello'), key);
});

test('changed text loses its key', () => {
  const scope = newScope();
  const before = new ComposerDraft(tabStorage, scope);
  const key = before.keyFor('hello');
  before.save('hello, all');
  const after = new ComposerDraft(tabStorage, scope);
  after.restore();
  assert.notEqual(after.keyFor('hello'), key);
});

test('empty text leaves no draft', () => {
  const scope = newScope();
  const draft = new ComposerDraft(tabStorage, scope);
  draft.save('hello');
  draft.save('');
  assert.equal(new ComposerDraft(tabStorage, scope).restore(), null);
});

test('name of a guest is kept with the text', () => {
  const scope = newScope();
  const before = new ComposerDraft(tabStorage, scope);
  before.name = 'Ann';
  before.save('hello');
  const after = new ComposerDraft(tabStorage, scope);
  after.restore();
  assert.equal(after.name, 'Ann');
});

test('who was picked to be mentioned is kept with the text', () => {
  const scope = newScope();
  const ann = { id: '7', name: 'Ann' };
  const before = new ComposerDraft(tabStorage, scope);
  before.picked.push(ann);
  before.save('hello @Ann');
  const after = new ComposerDraft(tabStorage, scope);
  after.restore();
  assert.deepEqual(after.picked, [ann]);
  after.save('');
  assert.deepEqual(after.picked, []);
});
