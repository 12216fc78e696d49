/**
 * Makes HTML pages of the documents in `docs/`: what the program and the Worker serve at `/docs`, with an index for the
 * search in `src/docs/docs.ts`. Headings have the addresses that they have on GitHub.
 */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Marked } from 'marked';
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id';

const ROOT = join(import.meta.dirname, '..', '..');
const DOCS = join(ROOT, 'docs');
const IMAGES = join(DOCS, 'images');

/** The documents in the order of the menu; one that is not named here comes last. */
const CHAPTERS = [
  ['Use', ['embedding', 'accounts', 'notifications', 'moderation', 'search', 'media', 'webhooks']],
  [
    'Move',
    [
      'importing',
      'compat',
      'from-disqus',
      'from-wordpress',
      'from-remark42',
      'from-artalk',
      'from-waline',
      'from-isso',
      'from-twikoo',
      'from-commento',
      'from-giscus',
    ],
  ],
  [
    'Run',
    [
      'configuration',
      'operations',
      'alerts',
      'privacy',
      'limits',
      'logging',
      'edge',
      'cluster',
      'capacity',
    ],
  ],
  ['Understand', ['glossary', 'architecture', 'decisions', 'benchmarks', 'testing']],
];

const escapeHtml = (text) =>
  text.replace(
    /[&<>"]/g,
    (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char],
  );

/** The pages and pictures by their path in `dist`. */
export async function buildDocs() {
  const files = new Map();
  const names = (await readdir(DOCS)).filter((name) => name.endsWith('.md'));
  const documents = new Map();
  for (const file of names) {
    const source = await readFile(join(DOCS, file), 'utf8');
    documents.set(file.replace(/\.md$/, ''), render(source, names));
  }
  const menu = menuOf(documents);
  for (const [name, document] of documents) {
    files.set(`docs/${name}.html`, page(document.title, menu(name), document.html));
  }
  files.set('docs/index.html', page('Gailou', menu(null), startPage(documents)));
  const sections = [...documents].flatMap(([name, { sections }]) =>
    sections.map((section) => ({ page: name, ...section })),
  );
  files.set('docs/sections.json', JSON.stringify(sections));
  for (const name of await readdir(IMAGES)) {
    if (/\.(svg|png)$/.test(name)) {
      files.set(`docs/images/${name}`, await readFile(join(IMAGES, name)));
    }
  }
  return new Map([...files].map(([name, contents]) => [name, Buffer.from(contents)]));
}

function render(source, names) {
  const marked = new Marked(gfmHeadingId(), {
    renderer: {
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const target = addressOf(href, names);
        return target ? `<a href="${escapeHtml(target)}">${text}</a>` : text;
      },
      table(token) {
        const html = Object.getPrototypeOf(this).table.call(this, token);
        return `<div class="wide">${html}</div>`;
      },
    },
  });
  const html = marked.parse(source);
  const headings = getHeadingList();
  return { title: headings[0].raw, html, sections: sectionsOf(source, headings) };
}

/** Where a link of a document leads on the site; null for a file of the repository. */
function addressOf(href, names) {
  if (/^(https?:|#)/.test(href)) return href;
  const [, file, anchor = ''] = /^([^#]*)(#.*)?$/.exec(href);
  return names.includes(file) ? file.replace(/\.md$/, '') + anchor : null;
}

/** The text below each heading, for the search. */
function sectionsOf(source, headings) {
  const texts = [];
  let isCode = false;
  for (const line of source.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    if (!isCode && /^#{1,6} /.test(line)) texts.push([]);
    else texts.at(-1)?.push(line);
  }
  return headings.map(({ raw, id }, index) => ({
    heading: raw.replaceAll('`', ''),
    anchor: id,
    text: (texts[index] ?? [])
      .join(' ')
      .replace(/[`*|]|\]\([^)]*\)|\[/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
  }));
}

function menuOf(documents) {
  const listed = CHAPTERS.flatMap(([, names]) => names);
  const others = [...documents.keys()].filter((name) => !listed.includes(name));
  const chapters = [...CHAPTERS, ['More', others]];
  return (current) =>
    chapters
      .map(([chapter, names]) => {
        const items = names
          .filter((name) => documents.has(name))
          .map((name) => {
            const here = name === current ? ' aria-current="page"' : '';
            return `<li><a href="/docs/${name}"${here}>${escapeHtml(documents.get(name).title)}</a></li>`;
          });
        return items.length > 0 ? `<h2>${chapter}</h2><ul>${items.join('')}</ul>` : '';
      })
      .join('');
}

function startPage(documents) {
  const [first] = CHAPTERS[0][1].filter((name) => documents.has(name));
  return `<h1>Gailou 盖楼</h1>
<p>A comment system for everything from a blog to a feed. One script on a page:</p>
<pre><code>&lt;script src="/gailou.js" data-subject="article/hello" defer&gt;&lt;/script&gt;</code></pre>
<p>Begin with <a href="/docs/${first}">${escapeHtml(documents.get(first).title)}</a>, or look at the <a href="/">demo</a>, at the
<a href="/console">moderators’ page</a> and at the <a href="/openapi.json">contract of the API</a>.</p>`;
}

function page(title, menu, html) {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Gailou</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/docs/docs.css">
<script src="/docs/docs.js" defer></script>
</head>
<body>
<a class="skip" href="#text">Skip the menu</a>
<nav aria-label="Documents">
<a class="home" href="/docs">盖楼 Gailou</a>
<form role="search"><label for="query">Search</label><input id="query" type="search" autocomplete="off"></form>
<details open><summary>Documents</summary>${menu}</details>
</nav>
<main id="text"><div id="found" aria-live="polite" hidden></div><article>${html}</article></main>
</body>
</html>
`;
}
