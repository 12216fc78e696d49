import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asCode, asLink, prefixed, quoteOf, type TextEdit, wrapped } from './text-edit.ts';

/** `[` and `]` are the ends of the selection, before and after; `|` is both of them. */
function check(before: string, edit: (selected: SelectedArgument) => TextEdit, after: string) {
  const marked = before.replace('|', '«»');
  const start = marked.indexOf('«');
  const end = marked.indexOf('»') - 1;
  const text = marked.replace(/[«»]/g, '');
  const { from, to, insert, selectFrom, selectTo } = edit({ text, start, end });
  const result = text.slice(0, from) + insert + text.slice(to);
  const shown = `${result.slice(0, selectFrom)}«${result.slice(selectFrom, selectTo)}»${result.slice(selectTo)}`;
  assert.equal(shown.replace('«»', '|'), after);
}

type SelectedArgument = Parameters<typeof asCode>[0];
const bold = (selected: SelectedArgument) => wrapped(selected, '**');
const italic = (selected: SelectedArgument) => wrapped(selected, '*');
const quote = (selected: SelectedArgument) => prefixed(selected, '> ');

for (const [before, edit, after] of [
  ['a «word» here', bold, 'a **«word»** here'],
  ['a «word »here', bold, 'a **«word»** here'],
  ['a **«word»** here', bold, 'a «word» here'],
  ['a **«word»** here', italic, 'a ***«word»*** here'],
  ['a ***«word»*** here', italic, 'a **«word»** here'],
  ['a *«word»* here', bold, 'a ***«word»*** here'],
  ['|', italic, '*|*'],
  ['«x»', asCode, '`«x»`'],
  ['a «x\ny»', asCode, 'a \n```\n«x\ny»\n```\n'],
  ['|', asLink, '[|](https://)'],
  ['see «this»', asLink, 'see [this](«https://»)'],
  ['«https://a.example/b»', asLink, '[|](https://a.example/b)'],
  ['one\n«two\nthree»\nfour', quote, 'one\n«> two\n> three»\nfour'],
  ['«> two\n> three»', quote, '«two\nthree»'],
  ['tw|o', quote, '> two|'],
] as const) {
  test(`${before} becomes ${after}`, () => check(before, edit, after));
}

test('quote is all lines of it, and an empty one', () =>
  assert.equal(quoteOf(' one\n\ntwo '), '> one\n> two\n\n'));
