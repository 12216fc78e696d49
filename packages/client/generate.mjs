/**
 * Writes `src/schema.ts` from the OpenAPI document, of which the tests of the HTTP contract keep a snapshot.
 *
 *   node packages/client/generate.mjs           writes it
 *   node packages/client/generate.mjs --check   fails where the file is older than the document
 */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import openapiTypescript, { astToString } from 'openapi-typescript';

const SNAPSHOT = join(
  import.meta.dirname,
  '../../tests/tests/contract/snapshots/contract__openapi__openapi.snap',
);
const SCHEMA = join(import.meta.dirname, 'src/schema.ts');
const HEAD = `/** The shapes of the HTTP interface. Written by generate.mjs from the OpenAPI document; not by hand. */\n\n`;

const { values: flags } = parseArgs({ options: { check: { type: 'boolean', default: false } } });

/** A snapshot is a head between two lines of dashes, and the document. */
async function readDocument() {
  const [, , document] = (await readFile(SNAPSHOT, 'utf8')).split(/^---$/m);
  return JSON.parse(document);
}

const isCompact = ({ $ref, items }) => /\/Compact\w+$/.test($ref ?? items?.$ref ?? '');
const isViewParameter = ({ name, in: place } = {}) => name === 'view' && place === 'query';

/**
 * The document of calls without `view`, which answer whole comments: with it each field that a compact list leaves out would be
 * optional for everybody. The shapes of compact lists stay, by their own names.
 */
function withoutViews(value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    return value.filter((item) => !isViewParameter(item ?? undefined)).map(withoutViews);
  }
  const [full, compact, ...others] = value.anyOf ?? [];
  if (compact && others.length === 0 && isCompact(compact)) return withoutViews(full);
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, withoutViews(of)]));
}

const generated = HEAD + astToString(await openapiTypescript(withoutViews(await readDocument())));
if (flags.check) {
  const written = await readFile(SCHEMA, 'utf8').catch(() => '');
  if (written !== generated) {
    console.error('packages/client/src/schema.ts is older than the OpenAPI document:');
    console.error('run `node packages/client/generate.mjs`');
    process.exitCode = 1;
  }
} else {
  await writeFile(SCHEMA, generated);
}
