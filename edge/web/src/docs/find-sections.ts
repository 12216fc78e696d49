/** Finds the sections of the documents that have all words of a query. Pure. */

export interface Section {
  page: string;
  heading: string;
  anchor: string;
  text: string;
}

export interface FoundSection extends Section {
  excerpt: string;
}

const MAX_RESULTS = 20;
const EXCERPT_LENGTH = 160;
/** A word of a heading counts as this many of the text. */
const HEADING_WEIGHT = 20;
const MAX_COUNTED = 10;

/** The best first; among equals in the order of the documents. */
export function findSections(sections: readonly Section[], query: string): FoundSection[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const patterns = words.map(
    (word) => new RegExp(`(?<![\\p{L}\\p{N}])${escapePattern(word)}`, 'giu'),
  );
  return sections
    .map((section) => ({ section, score: scoreOf(section, patterns) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_RESULTS)
    .map(({ section }) => ({ ...section, excerpt: excerptOf(section.text, patterns) }));
}

/** 0 when a word is missing. */
function scoreOf({ heading, text }: Section, patterns: readonly RegExp[]): number {
  let score = 0;
  for (const pattern of patterns) {
    const inHeading = heading.match(pattern)?.length ?? 0;
    const inText = Math.min(text.match(pattern)?.length ?? 0, MAX_COUNTED);
    if (inHeading + inText === 0) return 0;
    score += inHeading * HEADING_WEIGHT + inText;
  }
  return score;
}

/** What is around the first word that the text has. */
function excerptOf(text: string, patterns: readonly RegExp[]): string {
  const places = patterns.map((pattern) => text.search(pattern)).filter((at) => at >= 0);
  const from = Math.max(0, Math.min(...places, text.length) - EXCERPT_LENGTH / 3);
  const part = text.slice(from, from + EXCERPT_LENGTH);
  return `${from > 0 ? '…' : ''}${part}${from + EXCERPT_LENGTH < text.length ? '…' : ''}`;
}

/** The text as a pattern that matches itself. */
const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
