// The admins' page: comments handed out as a file, and taken in from one.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { listWithRoots, newSubject, tryPostComment } from './support/api.mjs';
import { ADMIN, newMember, smallTargets, violations, withConsole } from './support/console.mjs';
import { BASE, NARROW, ORIGIN, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

/** The file of an import. */
const fileOf = (lines) => ({
  name: 'threads.jsonl',
  mimeType: 'application/x-ndjson',
  buffer: Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')),
});

describe('console: import and export', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_ORIGIN: ORIGIN, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  /** Made when it is used: a token ends after ten minutes. */
  const signedIn = () => ({ token: ADMIN(), section: 'transfer', base: ORIGIN });

  test('a thread is exported as a file, and imported under another name', async () => {
    const subject = newSubject();
    const text = newText('a thread that moves');
    await tryPostComment(subject, text, newMember('Mover').token);
    await withConsole(signedIn(), async (page) => {
      await page.getByLabel('Thread, as type/key').fill(subject);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export' }).click(),
      ]);
      assert.equal(download.suggestedFilename(), 'gailou-comments.jsonl');
      const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
      assert.equal(lines.length, 1);
      const line = JSON.parse(lines[0]);
      assert.equal(line.content, text);

      const moved = newSubject();
      const bad = { subject: 'nowhere:7', id: '1', author: 'A', content: 'x', created_at: 1 };
      await page
        .getByLabel('File')
        .setInputFiles(fileOf([{ ...line, subject: moved.replace('/', ':') }, bad]));
      await page.getByRole('button', { name: 'Import' }).click();
      await page.getByText('1 imported, 0 skipped').waitFor();
      await page.getByText('Line 2:').waitFor();
      const { data } = await listWithRoots(moved, 1);
      assert.deepEqual(
        data.map(({ content }) => content),
        [text],
      );
      assert.deepEqual(await violations(page), []);
    });
  });

  test('a thumb and both languages have room, and a moderator reads who may', async () => {
    await withConsole({ ...signedIn(), viewport: NARROW, hasTouch: true }, async (page) => {
      await page.getByRole('button', { name: 'Export' }).waitFor();
      await page.getByRole('button', { name: '中文' }).click();
      await page.getByRole('button', { name: '导入', exact: true }).waitFor();
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(await smallTargets(page), []);
    });
    await withConsole({ section: 'transfer', base: ORIGIN }, async (page) => {
      await page.getByText('Only admins import and export.').waitFor();
    });
  });

  test('the Worker says where it is done', async () => {
    await withConsole({ token: ADMIN(), section: 'transfer' }, async (page) => {
      await page.getByRole('button', { name: 'Export' }).click();
      await page.getByText('Open the console at the address of the program itself').waitFor();
    });
  });
});
