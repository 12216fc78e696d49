// Makes a table in Markdown of the figures that benchmarks have printed, beside those of docs/benchmarks.md.
//
//   node scripts/bench-table.mjs [--update] NAME FILE...
//
// A figure is a line of JSON in one of the files; other lines are left out. It says `what` was measured, its `value` and its
// `unit`, and may have a goal (`at_least`, `at_most`), a `peer` or limit of the same run with its `peer_value`, a goal for
// the ratio of both (`ratio_at_least`, `ratio_at_most`), and the `bytes` and `peer_bytes` of an answer. With --update the
// table takes the place of the one between the marks of this name in the document.

import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const DOCUMENT = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));
const HEAD = ['what', 'measured', 'goal', 'peer or limit in the same run', 'ratio'];

const number = (value) => value.toLocaleString('en', { maximumSignificantDigits: 3 });
const amount = (value, { unit }, bytes) =>
  number(value) + unit + (bytes === undefined ? '' : `, ${(bytes / 1_000).toFixed(1)} kB`);
const ratio = (value) => (value < 10 ? value.toFixed(2) : number(value));
const row = (cells) => `| ${cells.join(' | ')} |`;

/** What is compared with a goal: the goal in words, and whether it is reached. */
function goalsOf(figure) {
  const byPeer = figure.value / figure.peer_value;
  const goals = [
    ['at_least', figure.value, (goal) => `≥ ${amount(goal, figure)}`],
    ['at_most', figure.value, (goal) => `≤ ${amount(goal, figure)}`],
    ['ratio_at_least', byPeer, (goal) => `ratio ≥ ${goal}`],
    ['ratio_at_most', byPeer, (goal) => `ratio ≤ ${goal}`],
  ];
  return goals
    .filter(([name]) => figure[name] !== undefined)
    .map(([name, value, inWords]) => {
      const isReached = name.endsWith('at_least') ? value >= figure[name] : value <= figure[name];
      return inWords(figure[name]) + (isReached ? '' : ' **missed**');
    });
}

function cellsOf(figure) {
  const { what, value, bytes, peer, peer_value, peer_bytes, at_least, at_most } = figure;
  const limit = peer_value ?? at_least ?? at_most;
  return [
    what,
    amount(value, figure, bytes),
    goalsOf(figure).join(', '),
    peer ? `${peer}: ${amount(peer_value, figure, peer_bytes)}` : '',
    limit === undefined ? '' : ratio(value / limit),
  ];
}

const isUpdate = process.argv[2] === '--update';
const [name, ...files] = process.argv.slice(isUpdate ? 3 : 2);
const outputs = await Promise.all(files.map((file) => readFile(file, 'utf8')));
const lines = outputs.flatMap((output) => output.split('\n'));
const figures = lines.filter((line) => line.startsWith('{"')).map((line) => JSON.parse(line));
const table = figures.map(cellsOf);

const document = await readFile(DOCUMENT, 'utf8');
const [begin, end] = ['begin', 'end'].map((place) => `<!-- ${name}: ${place} -->\n`);
const [before, rest] = document.split(begin);
const [committed, after] = rest.split(end);
/** The measured cell of a row that the document has; a row is known by what it measures, and against whom. */
const known = new Map(
  committed.split('\n').map((line) => {
    const [what, measured, , peer] = line.slice(2, -2).split(' | ');
    return [`${what}${peer?.split(':')[0]}`, measured];
  }),
);
const withCommitted = table.map((cells) => [
  ...cells,
  known.get(`${cells[0]}${cells[3].split(':')[0]}`) ?? '',
]);
const render = (head, rows) => [head, head.map(() => '---'), ...rows].map(row).join('\n');

console.log(render([...HEAD, 'committed'], withCommitted));
if (isUpdate) await writeFile(DOCUMENT, `${before}${begin}${render(HEAD, table)}\n${end}${after}`);
