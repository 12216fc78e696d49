/** Which names complete what is being written behind an `@`, and which members a text mentions. Pure. */

import type { MemberName } from '../api/wire.ts';

/** The contract's limit. */
const MAX_MENTIONS = 20;
const MAX_SHOWN = 8;

/** An `@` that begins a word, and what follows it up to the cursor: a name may have one space. */
const UNFINISHED = /(?<![\w@.])@([^\s@]{0,30}(?: [^\s@]{0,30})?)$/u;

export interface UnfinishedMention {
  /** Where the `@` is. */
  readonly from: number;
  readonly query: string;
}

/** Null where no name is being written. */
export function unfinishedAt(text: string, cursor: number): UnfinishedMention | null {
  const [found, query = ''] = UNFINISHED.exec(text.slice(0, cursor)) ?? [];
  return found === undefined ? null : { from: cursor - found.length, query };
}

/** The names that begin with the query, then those with a word that does, then those that have it in them. */
export function matchingNames(names: readonly MemberName[], query: string): MemberName[] {
  const wanted = query.toLowerCase();
  const rank = ({ name }: MemberName) => {
    const lower = name.toLowerCase();
    if (lower.startsWith(wanted)) return 0;
    if (lower.includes(` ${wanted}`)) return 1;
    return lower.includes(wanted) ? 2 : -1;
  };
  return [0, 1, 2]
    .flatMap((each) => names.filter((member) => rank(member) === each))
    .slice(0, MAX_SHOWN);
}

/** The ids of those whose name stands behind an `@` in the text. */
export function mentionedIn(text: string, picked: readonly MemberName[]): string[] {
  const ids = picked.filter(({ name }) => text.includes(`@${name}`)).map(({ id }) => id);
  return [...new Set(ids)].slice(0, MAX_MENTIONS);
}
