import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canDraw, isFormulaLanguage } from './formula-source.ts';

const matrix = (rows: number, columns: number) =>
  `\\begin{pmatrix}${Array(rows).fill(Array(columns).fill('1').join('&')).join('\\\\')}\\end{pmatrix}`;

for (const [name, tex, expected] of [
  ['formula', '\\sum_{i=1}^{n} x_i', true],
  ['nothing', ' \n', false],
  ['as long as a formula may be', 'x'.repeat(2_000), true],
  ['too long', 'x'.repeat(2_001), false],
  ['matrix of 12 × 12', matrix(12, 12), true],
  [
    'table whose first row is long',
    `\\begin{matrix}${'&'.repeat(300)}${'\\\\'.repeat(300)}`,
    false,
  ],
  ['table with many columns', `\\begin{array}{${'c'.repeat(400)}}${'\\cr '.repeat(99)}`, false],
  ['definition', '\\def\\a{xx}\\a', false],
  ['global definition', '\\gdef\\a{xx}\\a', false],
  ['definition of LaTeX', '\\newcommand{\\a}{xx}\\a', false],
  ['definition that is changed', '\\renewcommand\\a{xx}\\a', false],
  ['definition where there is none', '\\providecommand{\\a}{xx}', false],
  ['another name', '\\let\\a=b', false],
  ['name that begins as a definition does', '\\left(x\\right)', true],
] as const) {
  test(`${name} is ${expected ? 'drawn' : 'code'}`, () => assert.equal(canDraw(tex), expected));
}

test('languages of formulas', () => {
  const named = ['math', 'latex', 'tex', 'rust', ''].filter(isFormulaLanguage);
  assert.deepEqual(named, ['math', 'latex', 'tex']);
});
