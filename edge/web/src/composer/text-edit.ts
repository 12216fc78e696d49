/** What the buttons of the toolbar make of a text. Pure: what shows it is `edit-text.ts`. */

export interface SelectedText {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Replaces what is from `from` to `to`, and selects a part of the new text. */
export interface TextEdit {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
  readonly selectFrom: number;
  readonly selectTo: number;
}

/** Puts `insert` in the place of the selection, and the cursor behind it. */
export function inserted({ start, end }: SelectedText, insert: string): TextEdit {
  const at = start + insert.length;
  return { from: start, to: end, insert, selectFrom: at, selectTo: at };
}

/** Puts the selection between two marks, or takes them away. Marks stand beside a letter, so spaces stay outside. */
export function wrapped(selected: SelectedText, mark: '*' | '**' | '`'): TextEdit {
  const { text } = selected;
  const inner = text.slice(selected.start, selected.end);
  const start = selected.start + (inner.length - inner.trimStart().length);
  const end = Math.max(start, selected.end - (inner.length - inner.trimEnd().length));
  const chosen = text.slice(start, end);
  const size = mark.length;
  if (isMarked(text, start, end, mark)) {
    return {
      from: start - size,
      to: end + size,
      insert: chosen,
      selectFrom: start - size,
      selectTo: end - size,
    };
  }
  return {
    from: start,
    to: end,
    insert: mark + chosen + mark,
    selectFrom: start + size,
    selectTo: end + size,
  };
}

/** Of `***both***` each of the two marks is one. */
function isMarked(text: string, start: number, end: number, mark: '*' | '**' | '`'): boolean {
  const [sign = ''] = mark;
  let run = 0;
  while (run < 3 && text[start - 1 - run] === sign && text[end + run] === sign) run += 1;
  return mark.length === 2 ? run >= 2 : run % 2 === 1;
}

/** A line as code, several as a block. */
export function asCode(selected: SelectedText): TextEdit {
  const { text, start, end } = selected;
  const chosen = text.slice(start, end);
  if (!chosen.includes('\n')) return wrapped(selected, '`');
  const before = start > 0 && text[start - 1] !== '\n' ? '\n' : '';
  const opening = `${before}\`\`\`\n`;
  const from = start + opening.length;
  return {
    from: start,
    to: end,
    insert: `${opening}${chosen}\n\`\`\`\n`,
    selectFrom: from,
    selectTo: from + chosen.length,
  };
}

const WEB_ADDRESS = /^https?:\/\/\S+$/;
const ADDRESS_BEGINNING = 'https://';

/** A link; what is still to be written is selected: the address, or the words of an address. */
export function asLink({ text, start, end }: SelectedText): TextEdit {
  const chosen = text.slice(start, end);
  const edit = { from: start, to: end };
  if (WEB_ADDRESS.test(chosen.trim())) {
    const at = start + 1;
    return { ...edit, insert: `[](${chosen.trim()})`, selectFrom: at, selectTo: at };
  }
  const at = start + chosen.length + '[]('.length;
  const insert = `[${chosen}](${ADDRESS_BEGINNING})`;
  const words = start + 1;
  return chosen
    ? { ...edit, insert, selectFrom: at, selectTo: at + ADDRESS_BEGINNING.length }
    : { ...edit, insert, selectFrom: words, selectTo: words };
}

/** Begins each line of the selection with `prefix`, or takes it away from all of them. */
export function prefixed({ text, start, end }: SelectedText, prefix: '> ' | '- '): TextEdit {
  const from = text.lastIndexOf('\n', start - 1) + 1;
  const nextBreak = text.indexOf('\n', Math.max(end - 1, start));
  const to = nextBreak < 0 ? text.length : nextBreak;
  const lines = text.slice(from, to).split('\n');
  const isOn = lines.every((line) => line.startsWith(prefix));
  const insert = lines.map((line) => (isOn ? line.slice(prefix.length) : prefix + line)).join('\n');
  const last = from + insert.length;
  return { from, to, insert, selectFrom: start === end ? last : from, selectTo: last };
}

/** Several lines as a quote, with an empty line behind it for the answer. */
export function quoteOf(text: string): string {
  const lines = text.trim().split(/\n+/);
  return `${lines.map((line) => `> ${line.trimEnd()}`).join('\n')}\n\n`;
}
