/** The search of the documents: every word of the query begins a word of the section, and headings count more. */

import { type FoundSection, findSections, type Section } from './find-sections.ts';

/** Where the sections are; `edge/web/docs.mjs` makes the file. */
const SECTIONS_URL = '/docs/sections.json';

const query = elementById<HTMLInputElement>('query');
const found = elementById('found');
const article = document.querySelector('article');
let sections: Promise<Section[]> | null = null;

function elementById<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no element with the id "${id}"`);
  return element as Kind;
}

/** Asks once; a request that failed is sent again at the next letter. */
function loadSections(): Promise<Section[]> {
  sections ??= fetch(SECTIONS_URL).then(
    (response) => response.json(),
    (error) => {
      sections = null;
      throw error;
    },
  );
  return sections;
}

async function search(): Promise<void> {
  const text = query.value.trim();
  found.hidden = !text;
  if (article) article.hidden = Boolean(text);
  if (!text) return;
  try {
    const all = await loadSections();
    if (text === query.value.trim()) show(findSections(all, text));
  } catch {
    found.textContent = 'The search does not answer right now.';
  }
}

function show(results: FoundSection[]): void {
  if (results.length === 0) {
    found.textContent = 'Nothing is found.';
    return;
  }
  found.replaceChildren(
    ...results.map(({ page, heading, anchor, excerpt }) => {
      const link = document.createElement('a');
      link.href = `/docs/${page}#${anchor}`;
      link.textContent = heading;
      const text = document.createElement('p');
      text.textContent = excerpt;
      const item = document.createElement('section');
      item.append(link, text);
      return item;
    }),
  );
}

query.addEventListener('input', search);
query.form?.addEventListener('submit', (event) => {
  event.preventDefault();
  found.querySelector('a')?.click();
});
// The heading of this page is at the top again, not behind what was found.
found.addEventListener('click', (event) => {
  if (event.target instanceof HTMLAnchorElement && event.target.pathname === location.pathname) {
    query.value = '';
    search();
  }
});
// On a phone the menu is closed.
const menu = document.querySelector('nav details');
if (menu && matchMedia('(max-width: 48rem)').matches) menu.removeAttribute('open');
