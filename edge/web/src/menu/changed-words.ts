/** What an edit has changed of a text. */

const wordsOf = (text: string, language: string) =>
  Array.from(
    new Intl.Segmenter(language, { granularity: 'word' }).segment(text),
    ({ segment }) => segment,
  );

/** The begin of a text that the next one has too, the words it has alone, and the end of both. */
export function changedWords(
  before: string,
  after: string,
  language: string,
): [begin: string, changed: string, end: string] {
  const [old, next] = [wordsOf(before, language), wordsOf(after, language)];
  const most = Math.min(old.length, next.length);
  let begin = 0;
  while (begin < most && old[begin] === next[begin]) begin += 1;
  let end = 0;
  while (end < most - begin && old.at(-1 - end) === next.at(-1 - end)) end += 1;
  const last = old.length - end;
  return [old.slice(0, begin), old.slice(begin, last), old.slice(last)].map((words) =>
    words.join(''),
  ) as [string, string, string];
}
