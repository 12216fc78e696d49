// The admins' page: comments handed out as a file, and taken in from one.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
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

/** Runs `steps` with an answer of JSON lines to a call, which goes on and ends as they say. */
async function withHeldAnswer(page, call, steps) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const answered = once(server, 'request');
  await page.route(call, (route) => route.continue({ url: `http://127.0.0.1:${port}/` }));
  try {
    await steps(async () => {
      const [request, response] = await answered;
      request.resume();
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      return {
        write: (line) => response.write(`${JSON.stringify(line)}\n`),
        end: () => response.end(),
      };
    });
  } finally {
    await page.unroute(call);
    server.closeAllConnections();
    server.close();
  }
}

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

  test('an export of another system is imported, and what is wrong or left out is named', async () => {
    const page = `/2020/${newSubject().split('/')[1]}/`;
    const comment = (objectId, fields) => ({
      objectId,
      comment: `comment ${objectId}`,
      nick: 'Ann',
      url: page,
      createdAt: '2023-01-01 10:00:00',
      ...fields,
    });
    const comments = [
      comment(1),
      comment(2, { status: 'spam' }),
      comment(3, { createdAt: 'soon' }),
      comment(4, { status: 'waiting' }),
    ];
    await withConsole({ ...signedIn(), viewport: NARROW }, async (console) => {
      await console.getByLabel('From').selectOption('Waline, Valine');
      await console.getByLabel('Site of pages').fill('blog.example');
      await console.getByLabel('File').setInputFiles({
        name: 'waline.json',
        mimeType: 'application/json',
        buffer: Buffer.from(JSON.stringify(comments)),
      });
      const importing = console.getByRole('button', { name: 'Import' });
      await importing.click();
      await console.getByText('1 imported, 0 skipped').waitFor();
      await console.getByText('Left out: 1 not approved, 1 spam').waitFor();
      await console.getByText('comment "3": "soon" is no time').waitFor();
      assert.deepEqual(await violations(console), []);
      assert.deepEqual(await smallTargets(console), []);
      await console.getByLabel('Import what waits').check();
      await importing.click();
      await console.getByText('1 imported, 1 skipped').waitFor();
      const key = `blog.example${page.slice(0, -1)}`;
      const { data, subject } = await listWithRoots(`article/${key}`, 1);
      assert.deepEqual(
        data.map(({ content }) => content),
        ['comment 1'],
      );
      assert.equal(subject.url, `https://blog.example${page}`);
    });
  });

  test('an import and an export say how far they are while they go on', async () => {
    await withConsole(signedIn(), async (page) => {
      await page.getByLabel('File').setInputFiles(fileOf([{}, {}, {}, {}]));
      const bar = page.getByRole('progressbar', { name: 'Import' });
      const importing = page.getByRole('button', { name: 'Import' });
      await withHeldAnswer(page, '**/v1/admin/import?*', async (answer) => {
        await importing.click();
        const lines = await answer();
        assert.equal(await bar.getAttribute('value'), null, 'nothing is known yet');
        assert.ok(await importing.isDisabled());
        for (const done of [1, 3]) {
          lines.write({ done, total: 4 });
          await page.getByText(`${done} / 4`, { exact: true }).waitFor();
          assert.equal(await bar.evaluate(({ value, max }) => value / max), done / 4);
        }
        lines.write({ line: 2, reason: 'has no content' });
        await page.getByText('Line 2: has no content').waitFor();
        assert.ok(await bar.isVisible(), 'it goes on');
        assert.deepEqual(await violations(page), []);
        lines.write({ imported: 3, skipped: 0, reparented: 0, bad: 1 });
        lines.end();
        await page.getByText('3 imported, 0 skipped').waitFor();
        await bar.waitFor({ state: 'detached' });
        assert.ok(await importing.isEnabled());
      });

      const exporting = page.getByRole('button', { name: 'Export' });
      await withHeldAnswer(page, '**/v1/admin/export?*', async (answer) => {
        await exporting.click();
        const lines = await answer();
        for (const [chars, size] of [
          [2_997, '3 kB'],
          [1_997, '5 kB'],
        ]) {
          lines.write('x'.repeat(chars));
          await page.getByRole('status').getByText(size, { exact: true }).waitFor();
          assert.ok(await exporting.isDisabled());
        }
        const downloaded = page.waitForEvent('download');
        lines.end();
        const { size } = await stat(await (await downloaded).path());
        assert.equal(size, 5_000);
        await page.getByText('5 kB').waitFor({ state: 'detached' });
      });
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
