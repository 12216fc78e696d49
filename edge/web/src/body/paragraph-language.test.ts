import assert from 'node:assert/strict';
import { test } from 'node:test';
import { languageOf } from './paragraph-language.ts';

for (const [text, language] of [
  ['안녕하세요, 반갑습니다. Gailou!', 'ko'],
  ['これは楽しい建物ですね。', 'ja'],
  ['カタカナ', 'ja'],
  ['这栋楼盖得真不错，继续往上盖。', 'zh'],
  ['這棟樓蓋得真不錯，繼續往上蓋。', 'zh'],
  ['東京都', null],
  ['Это очень высокий дом.', 'ru'],
  ['Це дуже високий будинок, і він її.', null],
  ['مرحبا بالعالم', 'ar'],
  ['این ساختمان چقدر بلند است', null],
  ['שלום לכולם', 'he'],
  ['A house', null],
  ['A text in English that quotes 盖楼 and nothing more', null],
  ['12 + 3 = 15', null],
  ['', null],
] as const) {
  test(`${JSON.stringify(text)} is ${language ?? 'of no known language'}`, () =>
    assert.equal(languageOf(text), language));
}

test('paragraph without kana in a Japanese comment may be Japanese', () =>
  assert.equal(languageOf('東京都千代田区永田町一丁目', true), null));
