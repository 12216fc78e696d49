import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchLanguage } from './match-language.ts';

for (const [tags, language] of [
  ['en-GB', 'en'],
  ['zh', 'zh-CN'],
  ['zh-CN', 'zh-CN'],
  ['zh-Hans-HK', 'zh-CN'],
  ['zh-SG', 'zh-CN'],
  ['ZH-tw', 'zh-TW'],
  ['zh-Hant', 'zh-TW'],
  ['zh-HK', 'zh-TW'],
  ['zh-MO', 'zh-TW'],
  ['pt', 'pt-BR'],
  ['pt-PT', 'pt-BR'],
  ['pt_BR', 'pt-BR'],
  ['de-AT', 'de'],
  ['es-419', 'es'],
  ['fr-CA', 'fr'],
  ['ja-JP', 'ja'],
  ['ko', 'ko'],
  ['ru-RU', 'ru'],
  ['ar-EG', 'ar'],
  ['iw', 'he'],
  ['he-IL', 'he'],
  ['nl', 'en'],
  ['', 'en'],
  ['-', 'en'],
] as const) {
  test(`"${tags}" is ${language}`, () => assert.equal(matchLanguage([tags]), language));
}

test('first tag with a language wins', () => {
  assert.equal(matchLanguage([null, '', 'nl', 'de-CH', 'fr']), 'de');
  assert.equal(matchLanguage([]), 'en');
});
