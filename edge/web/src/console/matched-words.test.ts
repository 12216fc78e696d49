import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchedSpans } from './matched-words.ts';

/** What is found of these terms, in the order of the text. */
function check(text: string, terms: string[], expected: string[]) {
  const spans = matchedSpans(
    text,
    terms.map((term) => ({ term })),
  );
  assert.deepEqual(
    spans.map(({ start, end }) => text.slice(start, end)),
    expected,
    text,
  );
}

test('terms are found as they are written in the text', () => {
  check('A Gardenia, and a ＧＡＲＤＥＮＩＡ.', ['gardenia'], ['Gardenia', 'ＧＡＲＤＥＮＩＡ']);
  check('nothing here', ['gardenia'], []);
  check('gardenia', ['***', ''], []);
  check('🙂 bad 🙂 bad', ['bad'], ['bad', 'bad']);
  check('gar\u200bdenia', ['gardenia'], ['gar\u200bdenia']);
});

test('gaps are passed beside characters without spaces, and between letters that are spelled', () => {
  check('来 赌 博 吧', ['赌博'], ['赌 博']);
  check('他很黄。片子', ['黄片'], []);
  check('加 QQ群', ['加qq'], ['加 QQ']);
  check('p o r n and po rn', ['porn'], ['p o r n']);
  check('pass it', ['assi'], []);
  check('at www . x . com', ['www.x.com'], ['www . x . com']);
});

test('short ends are at the edge of a word, long words are found inside others', () => {
  check('JSON, 用JS写, JS-1', ['js'], ['JS', 'JS']);
  check('gardenias', ['gardenia'], ['gardenia']);
  check('C and C++', ['C++'], ['C++']);
});

test('terms inside others are found once', () => {
  check('gardenia bush', ['garden', 'gardenia bush', 'bush'], ['gardenia bush']);
});
