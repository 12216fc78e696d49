/** The folders have an order, so that a reader who knows the ones below understands the next one. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

/** From the lowest. A file imports from its own folder and from the folders before it. */
const FOLDERS = [
  'util', // the browser and the language: storage, time, characters
  'style', // the style sheets
  'dom', // nodes, and HTML that is safe to insert
  'api', // the HTTP contract: its shapes, its calls, its problems
  'building', // which floors of a conversation are drawn, and which stands inside which
  'text', // the sentences for the reader, in English and Chinese
  'languages', // the sentences in every other language, a file each
  'model', // what a thread knows without a document: comments, the reader, recent acts
  'body', // what is in the text of a comment: names, languages, code
  'account', // signing in, and what is the reader's own: name, mails, notifications, data
  'composer', // the forms that a reader writes in
  'comment', // one comment on the page, with everything that opens under it
  'menu', // what opens beside a comment: its menu, the card of its author, a report, the offer to undo
  'thread', // the list of comments, and what keeps it up to date
  'widgets', // the elements beside the comments: counts, the newest comments, the bell
  '.', // the custom element and the script tag
  'console', // the moderators' page: it uses the HTTP contract and safe HTML, and nothing of the element
];

/** What `api` has in common with the client for npm: how a call is repeated. */
const CLIENT = '../../../packages/client/src';

/**
 * Pages of their own. The demo page uses the element as any host page does: by its tag, not by an import; the documents
 * use nothing.
 */
const APART = ['demo', 'docs'];

const ROOT = import.meta.dirname;
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

const FILES = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.tsx?$/.test(name),
);

/** The folders that a file imports from. */
function importedFolders(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const targets = [...text.matchAll(IMPORT)].map(([, path = '']) => join(dirname(file), path));
  return targets.map((target) => dirname(target));
}

test('every folder has a place in the order', () => {
  const found = new Set(FILES.map((file) => dirname(file)));
  assert.deepEqual([...found].sort(), [...FOLDERS, ...APART].sort());
});

for (const [place, folder] of FOLDERS.entries()) {
  test(`${folder} imports only from folders before it`, () => {
    const allowed = [...FOLDERS.slice(0, place + 1), ...(folder === 'api' ? [CLIENT] : [])];
    const wrong = FILES.filter((file) => dirname(file) === folder).flatMap((file) =>
      importedFolders(file)
        .filter((target) => !allowed.includes(target))
        .map((target) => `${file} imports from ${target}`),
    );
    assert.deepEqual(wrong, []);
  });
}

for (const folder of APART) {
  test(`${folder} imports nothing of another folder`, () => {
    const imports = FILES.filter((file) => dirname(file) === folder).flatMap(importedFolders);
    assert.deepEqual(
      imports.filter((target) => target !== folder),
      [],
    );
  });
}
