/** The words for which a comment was held, marked where they stand. The server names their categories alone. */

import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ConsoleClient } from './client.ts';
import { matchedSpans } from './matched-words.ts';
import { useConsole } from './parts.tsx';
import type { QueueEntry, Term } from './wire.ts';

/** The name of the highlight in the style sheet. */
const HIGHLIGHT = 'matched-word';
/** So much of the dictionary is read: 10,000 terms. */
const MAX_PAGES = 4;
/** After so long it is read again. */
const MAX_AGE_MS = 300_000;

interface ReadTerms {
  at: number;
  terms: Promise<Term[]>;
}

const read = new WeakMap<ConsoleClient, ReadTerms>();

async function readTerms(client: ConsoleClient): Promise<Term[]> {
  const terms: Term[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages === 0 || (cursor && pages < MAX_PAGES); pages += 1) {
    const page = await client.words(cursor);
    terms.push(...page.data);
    cursor = page.page.next;
  }
  return terms;
}

/** The head of the dictionary, read once for all entries. */
function termsOf(client: ConsoleClient): Promise<Term[]> {
  const known = read.get(client);
  if (known && Date.now() - known.at < MAX_AGE_MS) return known.terms;
  const terms = readTerms(client);
  read.set(client, { at: Date.now(), terms });
  terms.catch(() => read.delete(client));
  return terms;
}

/** Marks them in the open comment, which `host` shows, and in what was typed. */
export function useMatchedWords(host: RefObject<HTMLElement>, { why, comment }: QueueEntry): void {
  const { client } = useConsole();
  const [terms, setTerms] = useState<Term[]>([]);
  const categories = why.filter(({ kind }) => kind === 'word').map(({ detail }) => detail);
  const wanted = categories.join('\n');
  useEffect(() => {
    if (!wanted) return;
    let isMeant = true;
    termsOf(client).then(
      (all) => isMeant && setTerms(all.filter((one) => wanted.split('\n').includes(one.category))),
      // The categories are said in any case.
      () => {},
    );
    return () => {
      isMeant = false;
    };
  }, [client, wanted]);
  useEffect(() => {
    if (!host.current || terms.length === 0 || !('highlights' in CSS)) return;
    const texts = [...host.current.querySelectorAll('.now .comment-text, .plain.is-written')];
    const ranges = texts.flatMap((text) => rangesIn(text, terms));
    CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges));
    return () => void CSS.highlights.delete(HIGHLIGHT);
  }, [host, terms, comment]);
}

/** The matched words of an element, also where formatting divides them; a block ends a line. */
function rangesIn(element: Element, terms: readonly Term[]): Range[] {
  const nodes: { node: Text; start: number }[] = [];
  let text = '';
  let block: Element | null = null;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    const own = node.parentElement?.closest('p, li, blockquote, pre, h1, h2, h3, td') ?? null;
    if (own !== block) text += '\n';
    block = own;
    nodes.push({ node, start: text.length });
    text += node.data;
  }
  return matchedSpans(text, terms).map(({ start, end }) => {
    const range = new Range();
    const first = nodes.findLast((one) => one.start <= start);
    const last = nodes.findLast((one) => one.start < end);
    if (first) range.setStart(first.node, start - first.start);
    if (last) range.setEnd(last.node, end - last.start);
    return range;
  });
}
