/**
 * The numbers of comments on a page that lists subjects: in `<gailou-count subject>`, and in any element with
 * `data-gailou-count`. All of the page are asked for together.
 *
 * What is in the element stays until the number is known, and when it cannot be asked for.
 */

import { fetchCounts } from '../api/public.ts';
import { matchLanguage } from '../text/match-language.ts';
import { numbersIn } from '../text/numbers.ts';

/** The contract's limit for one call. */
const MAX_SUBJECTS = 100;
/** Elements that appear within this time are asked for together. */
const COLLECT_MS = 50;
const MARKED = '[data-gailou-count]';

/** Elements anywhere, also in shadow trees. */
const elements = new Set<CountElement>();
/** The numbers that are known, by the subject. */
const counts = new Map<string, number>();
let isScheduled = false;

class CountElement extends HTMLElement {
  static readonly observedAttributes = ['subject'];

  connectedCallback(): void {
    elements.add(this);
    schedule();
  }

  disconnectedCallback(): void {
    elements.delete(this);
  }

  attributeChangedCallback(): void {
    schedule();
  }
}

let server = '';

/** Defines the element, and follows the marked elements of the document. `base` is the server. */
export function startCounts(base: string): void {
  if (customElements.get('gailou-count')) return;
  server = base;
  customElements.define('gailou-count', CountElement);
  new MutationObserver(schedule).observe(document, {
    subtree: true,
    childList: true,
    attributeFilter: ['data-gailou-count'],
  });
  document.addEventListener('gailou:count', (event) => {
    const { subject, count } = (event as CustomEvent<{ subject: string; count: number }>).detail;
    counts.set(subject, count);
    schedule();
  });
  schedule();
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    showCounts();
  }, COLLECT_MS);
}

/** Each element with its subject. */
function places(): [Element, string][] {
  const marked = [...document.querySelectorAll<HTMLElement>(MARKED)];
  const all: [Element, string | null | undefined][] = [
    ...[...elements].map((node): [Element, string | null] => [node, node.getAttribute('subject')]),
    ...marked.map((node): [Element, string | undefined] => [node, node.dataset.gailouCount]),
  ];
  return all.filter((place): place is [Element, string] => Boolean(place[1]));
}

/** Writes the numbers that are known, and asks for the others. */
async function showCounts(): Promise<void> {
  const wanted = new Set<string>();
  for (const [node, subject] of places()) {
    const count = counts.get(subject);
    if (count === undefined) wanted.add(subject);
    else write(node, count);
  }
  const names = [...wanted];
  for (let at = 0; at < names.length; at += MAX_SUBJECTS) {
    const asked = names.slice(at, at + MAX_SUBJECTS);
    // Asked for once, whatever comes of it.
    for (const name of asked) counts.set(name, Number.NaN);
    const answer = await fetchCounts(server, asked).catch(() => null);
    for (const [name, { comments }] of Object.entries(answer?.data.data ?? {})) {
      counts.set(name, comments);
    }
  }
  if (names.length > 0) schedule();
}

function write(node: Element, count: number): void {
  if (Number.isNaN(count)) return;
  const tag = node.closest('[lang]')?.getAttribute('lang') ?? navigator.language;
  const text = numbersIn(matchLanguage([tag])).count(count);
  if (node.textContent !== text) node.textContent = text;
}
