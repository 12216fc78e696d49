/** The languages that a writer has named for the blocks of code in a text: the server's HTML does not have them. */

/** The marks of quotes and lists stand before a fence inside them. */
const FENCE = /^(?:>|[-*+]|\d+[.)]|\s)*?(`{3,}|~{3,})[ \t]*([^\s`]*)/;
const QUOTE_MARKS = /^(?: {0,3}> ?)+/;

/** By the text of each block that is fenced; the empty name where none is given. */
export function namedLanguages(markdown: string): Map<string, string> {
  const named = new Map<string, string>();
  let fence = '';
  let language = '';
  let lines: string[] = [];
  for (const line of markdown.split('\n')) {
    const [, marks = '', name = ''] = FENCE.exec(line) ?? [];
    if (!fence) {
      [fence, language, lines] = [marks, name.toLowerCase(), []];
    } else if (marks.startsWith(fence) && !name) {
      named.set(codeKey(lines.join('\n')), language);
      fence = '';
    } else {
      lines.push(line.replace(QUOTE_MARKS, ''));
    }
  }
  if (fence) named.set(codeKey(lines.join('\n')), language);
  return named;
}

/** The same for a block in Markdown and in HTML, however far it is indented. */
export function codeKey(code: string): string {
  return code.replace(/^[ \t]+/gm, '').trim();
}
