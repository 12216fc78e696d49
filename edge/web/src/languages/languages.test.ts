import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { accountText } from '../text/account.ts';
import { composerText } from '../text/composer.ts';
import { en } from '../text/en.ts';
import { keysText } from '../text/keys.ts';
import '../text/later.ts';
import { type Language, Locale } from '../text/locale.ts';
import { LANGUAGE_TAGS } from '../text/match-language.ts';
import { menuText } from '../text/menu.ts';
import { numbersIn } from '../text/numbers.ts';
import { widgetText } from '../text/widgets.ts';
import { zh } from '../text/zh.ts';

const MODULES = readdirSync(import.meta.dirname).filter((name) =>
  /^[a-z]{2}(-..)?\.ts$/.test(name),
);

const BUILT_IN: Language[] = [
  { tag: 'en', text: en },
  { tag: 'zh-CN', text: zh },
];

/** With the source of the texts: the categories of a language are in its types alone. */
const LOADED = await Promise.all(
  MODULES.map(async (name) => {
    const { language } = (await import(`./${name}`)) as { language: Language };
    return { name, language, source: readFileSync(`${import.meta.dirname}/${name}`, 'utf8') };
  }),
);
const ALL = [...BUILT_IN, ...LOADED.map(({ language }) => language)];
/** Each category of a plural, in every language, what is large, and a name. */
const INPUTS = [0, 1, 2, 3, 5, 11, 21, 100, 1_234, 1_000_000, 'Ann'];

/** Every text by its key; a text with parameters once for each input. */
function textsOf(texts: object, prefix = ''): [string, unknown][] {
  return Object.entries(texts).flatMap(([key, value]): [string, unknown][] => {
    const path = prefix + key;
    if (typeof value === 'object') return textsOf(value, `${path}.`);
    if (typeof value !== 'function') return [[path, value]];
    return INPUTS.map((input) => [`${path}(${input})`, value(input, 1, 3)]);
  });
}

/** Of all scripts. */
const everyText = (locale: Locale) => ({
  text: locale.text,
  account: accountText(locale),
  keys: keysText(locale),
  menu: menuText(locale),
  widgets: widgetText(locale),
  composer: composerText(locale),
});

const pathsOf = (texts: object) => textsOf(texts).map(([path]) => path.replace(/\(.*/, ''));

describe('languages', () => {
  test('every language has its texts, and no other one', () => {
    assert.deepEqual(ALL.map(({ tag }) => tag).sort(), [...LANGUAGE_TAGS].sort());
    for (const { name, language } of LOADED) {
      assert.equal(name, `${language.tag.toLowerCase()}.ts`);
    }
  });

  for (const language of ALL) {
    const locale = new Locale(language);
    test(`${language.tag}: no text is empty, unfinished or English`, () => {
      const texts = everyText(locale);
      const english = new Map(textsOf(everyText(new Locale({ tag: 'en', text: en }))));
      for (const [path, text] of textsOf(texts)) {
        assert.equal(typeof text, 'string', path);
        assert.ok((text as string).trim(), `${path} is empty`);
        assert.doesNotMatch(text as string, /undefined|null|\[object|# /, path);
        // A sentence that is the English one has been forgotten.
        const isSentence = (text as string).includes(' ') && (text as string).length > 12;
        if (language.tag !== 'en' && isSentence) assert.notEqual(text, english.get(path), path);
      }
      assert.deepEqual(new Set(pathsOf(texts.text)), new Set(pathsOf(en)));
    });
  }

  for (const { tag, text } of ALL) {
    // Who speaks to the computer says what is on the button, and its name has more words.
    test(`${tag}: name of a reply's button has what is written on it`, () => {
      const [name, written] = [text.writeReply('Ann'), text.reply].map((each) =>
        each.toLowerCase(),
      );
      assert.ok(name?.includes(written ?? ''), `${name} without ${written}`);
    });
  }

  for (const { tag, text } of ALL) {
    test(`${tag}: no text of a template has characters that HTML reads`, () => {
      for (const [key, value] of Object.entries(text)) {
        if (typeof value === 'string') assert.doesNotMatch(value, /[<>&"]/, key);
      }
    });
  }

  for (const { language, source } of LOADED) {
    test(`${language.tag}: has a form for each plural category of the platform`, () => {
      const named = /numbersIn<([^>]+)>/.exec(source)?.[1]?.match(/\w+/g) ?? [];
      const { pluralCategories } = new Intl.PluralRules(language.tag).resolvedOptions();
      assert.deepEqual(named.sort(), [...pluralCategories].sort());
    });
  }
});

test('plural takes the form of the number, with the digits of the language', () => {
  const { plural } = numbersIn<'one' | 'few' | 'many' | 'other'>('ru');
  const forms = { one: '# этаж', few: '# этажа', many: '# этажей', other: '# этажа' };
  assert.deepEqual(
    [1, 2, 5, 11, 21, 1_234].map((n) => plural(n, forms).replace(/\s/g, ' ')),
    ['1 этаж', '2 этажа', '5 этажей', '11 этажей', '21 этаж', '1 234 этажа'],
  );
});

test('category that the texts do not know takes the form for other numbers', () => {
  const { plural } = numbersIn<'one' | 'other'>('ar');
  assert.equal(plural(2, { one: 'a', other: 'b' }), 'b');
});

test('English sentences have no Chinese characters', () => {
  const locale = { tag: 'en', language: {} };
  const parts = [accountText, composerText, keysText, menuText, widgetText];
  for (const texts of [en, ...parts.map((textOf) => textOf(locale))]) {
    const source = JSON.stringify(texts, (_, value) =>
      typeof value === 'function' ? String(value) : value,
    );
    assert.doesNotMatch(source, /\p{Script=Han}/u);
  }
});
