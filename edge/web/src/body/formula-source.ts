/** Which blocks of code are formulas, and how much of one is drawn. Pure. */

const FORMULA_LANGUAGES: readonly string[] = ['math', 'latex', 'tex'];

/** Characters of a formula: what is longer stays code. */
const MAX_LENGTH = 2_000;
/** Cells of a table. A row may have as many as the longest one: 300 rows of 300 would take seconds. */
const MAX_CELLS = 2_000;

const DEFINITION = /\\(?:[gex]?def|let|futurelet|(?:re|provide)?(?:new)?command)(?![A-Za-z@])/;
const ROW_END = /\\\\|\\(?:cr|tabularnewline|newline)(?![A-Za-z])/g;
/** The columns of a table by their letters: `{lcr}`. */
const COLUMNS = /\{[lcr|: ]+\}/g;

export const isFormulaLanguage = (language: string): boolean =>
  FORMULA_LANGUAGES.includes(language);

/** Whether a formula is drawn. One that defines macros is not: a short one could become very long. */
export function canDraw(tex: string): boolean {
  return (
    tex.trim() !== '' &&
    tex.length <= MAX_LENGTH &&
    !DEFINITION.test(tex) &&
    mostCells(tex) <= MAX_CELLS
  );
}

/** At most so many cells are in the tables of a formula. */
function mostCells(tex: string): number {
  const rows = 1 + (tex.match(ROW_END)?.length ?? 0);
  const declared = tex.match(COLUMNS)?.map((columns) => columns.length) ?? [];
  const separated = 1 + (tex.match(/&/g)?.length ?? 0);
  return rows * Math.max(separated, ...declared);
}
