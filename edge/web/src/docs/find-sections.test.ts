import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSections, type Section } from './find-sections.ts';

const section = (heading: string, text: string): Section => ({
  page: 'media',
  heading,
  anchor: heading.toLowerCase(),
  text,
});
const SECTIONS = [
  section('Files', 'A bucket holds pictures. The search index is elsewhere.'),
  section('Search', 'Chinese and English (`media.url`).'),
  section('Limits', 'A research of nothing.'),
];
const headings = (query: string) => findSections(SECTIONS, query).map(({ heading }) => heading);

test('a heading comes before a text, and the inside of a word is not found', () =>
  assert.deepEqual(headings('search'), ['Search', 'Files']));

test('every word must be there, by its beginning', () => {
  assert.deepEqual(headings('pict buck'), ['Files']);
  assert.deepEqual(headings('pictures chinese'), []);
});

test('what has a meaning in patterns is a text', () => {
  assert.deepEqual(headings('media.url'), ['Search']);
  assert.deepEqual(headings('(*['), []);
  assert.deepEqual(headings('   '), []);
});

test('an excerpt is around the first word', () => {
  const long = section('Long', `${'a '.repeat(200)}needle ${'b '.repeat(200)}`);
  const [found] = findSections([long], 'needle');
  assert.match(found?.excerpt ?? '', /^….*needle.*…$/);
});
