// The pages docs/from-*.md, each followed from the export to the page: every command runs, in its order, with the export of
// tests/data/exports in the place of the reader's own, and what the page says is printed is printed. Then every piece of
// HTML is on a page in a browser, and shows the comments that were imported, also with the published widgets of others.
//
//   E2E_GAILOU    the origin's program; without it nothing runs
//   E2E_CHROMIUM  the browser; without it the lists of the subjects are read by HTTP
//
// Programs of other systems, and GitHub, are stood in for by scripts that hand out the export.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCS = join(ROOT, 'docs');
const EXPORTS = join(ROOT, 'tests/data/exports');
/** Where scripts/setup.sh puts the published widgets. */
const WIDGETS = join(ROOT, '.tools/widgets');
const GAILOU = process.env.E2E_GAILOU;
const CHROMIUM = process.env.E2E_CHROMIUM;
const skip = GAILOU ? false : 'E2E_GAILOU is not set';
const WAIT_MS = 15_000;

/** What the pages have in the place of a server, and of a page with comments. */
const PLACEHOLDER = 'https://comments.example';
const ADDRESS = 'https://blog.example/2020/hello/';
const SUBJECT = 'article/blog.example/2020/hello';
/** In a comment of each export, and strong. */
const TEXT = 'floor';

const run = promisify(execFile);
const exported = (name) => readFile(join(EXPORTS, name));

/** `files` are those that the reader has got, and `programs` what stands in for programs: shell. */
const PAGES = {
  disqus: {
    files: async () => ({ 'blog-2026-all.xml.gz': gzipSync(await exported('disqus.xml')) }),
  },
  wordpress: {
    files: () => ({}),
    programs: {
      wp: `case "$1 $2" in
        "export --stdout") cat '${EXPORTS}/wordpress.xml' ;;
        "post list") printf 'url,ID\\n${ADDRESS},5\\n' ;;
        *) exit 1 ;;
      esac`,
    },
  },
  remark42: {
    files: () => ({}),
    programs: {
      docker: `[ "$*" = "exec remark42 backup -s blog" ] && mkdir -p var/backup &&
        gzip -c '${EXPORTS}/remark42.json' > var/backup/userbackup-blog-1.gz`,
    },
  },
  artalk: {
    files: () => ({}),
    programs: {
      docker: `case "$1" in
        exec) [ "$*" = "exec artalk artalk export /data/artalk.artrans" ] ;;
        cp) [ "$2" = artalk:/data/artalk.artrans ] && cp '${EXPORTS}/artalk.artrans' "$3" ;;
      esac`,
    },
    widget: { item: '.atk-comment-wrap' },
  },
  waline: {
    files: async () => ({
      'waline.json': await exported('waline.json'),
      'Comment.0.jsonl': await leancloud(),
    }),
    widget: { item: '.wl-card-item' },
  },
  isso: {
    files: () => ({}),
    programs: {
      docker: `[ "$1 $2" = "cp isso:/db/comments.db" ] && cp '${EXPORTS}/isso.db' "$3"`,
    },
    widget: { item: '.isso-comment' },
  },
  twikoo: {
    files: async () => ({ 'twikoo-comment.json': await exported('twikoo.json') }),
    widget: { item: '.tk-comment' },
  },
  commento: {
    files: async () => ({
      'commento-export.json.gz': gzipSync(await exported('commento.json')),
      'comentario-export.json.gz': gzipSync(await exported('commento-3.json')),
    }),
  },
  giscus: {
    files: () => ({}),
    programs: {
      gh: `case "$*" in
        "api graphql --paginate -F owner="*" -F name="*" -F category="*" --jq .data.repository.discussions.nodes[]") ;;
        *) exit 1 ;;
      esac
      for field in endCursor hasNextPage title comments id body createdAt lastEditedAt deletedAt upvoteCount login replies; do
        case "$*" in *"$field"*) ;; *) exit 1 ;; esac
      done
      node -e 'for (const node of require("${EXPORTS}/discussions.json").data.repository.discussions.nodes) console.log(JSON.stringify(node))'`,
    },
  },
};

/** What LeanCloud exports of Valine: a line about the file, then a comment a line. */
async function leancloud() {
  const { results } = JSON.parse(await exported('valine.json'));
  const about = '#filetype:JSON-streaming {"type":"Class","class":"Comment"}';
  return [about, ...results.map((comment) => JSON.stringify(comment)), ''].join('\n');
}

/** The fenced blocks of a document. */
function blocks(text) {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, body]) => ({
    language,
    body,
  }));
}

/** A folder with what the reader has, and with the programs of the page. */
async function prepare(t, { files, programs = {} }) {
  const folder = await mkdtemp(join(tmpdir(), 'gailou-from-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await symlink(GAILOU, join(bin, 'gailou'));
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\nset -e\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  }
  for (const [name, contents] of Object.entries(await files())) {
    await writeFile(join(folder, name), contents);
  }
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, GAILOU_DATA: 'data' };
  return { folder, env };
}

/** Settings that are the whole of a block. */
const settingsOf = (body) =>
  [...body.matchAll(/^(GAILOU_[A-Z_]+)=(.+)$/gm)].map(([, name, value]) => [name, value]);

/** Runs the commands of a page from its first line to its last, and returns its HTML and the settings it names. */
async function follow({ folder, env }, text) {
  const [html, settings] = [[], {}];
  let printed = '';
  for (const { language, body } of blocks(text)) {
    if (language === 'html') html.push(body);
    else if (language === 'tsv') await writeFile(join(folder, 'map.tsv'), body);
    else if (language === 'text') assert.equal(printed, body);
    else if (settingsOf(body).length > 0)
      Object.assign(settings, Object.fromEntries(settingsOf(body)));
    else {
      assert.equal(language, 'sh', `a block that is not run: ${body}`);
      printed = (await run('bash', ['-euo', 'pipefail', '-c', body], { cwd: folder, env })).stdout;
      checkImports(body, printed);
    }
  }
  return { html, settings };
}

/** Each import that is no trial has imported something. */
function checkImports(commands, printed) {
  const imports = commands
    .split('\n')
    .filter((line) => /^gailou import .*(?<!--dry-run)$/.test(line));
  const counts = [...printed.matchAll(/\{"imported":(\d+),/g)].map(([, count]) => Number(count));
  assert.equal(counts.length, imports.length, commands);
  assert.ok(
    counts.every((count) => count > 0),
    `${commands}${printed}`,
  );
}

async function startGailou(t, { folder, env }, settings) {
  const child = spawn(GAILOU, ['--bind', '127.0.0.1:0'], {
    cwd: folder,
    env: { ...env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  let output = '';
  return new Promise((ready, failed) => {
    const read = (chunk) => {
      output += chunk;
      const found = output.match(/http:\/\/127\.0\.0\.1:\d+/);
      if (found) ready(found[0]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('exit', (code) => failed(new Error(`gailou ended (${code}):\n${output}`)));
  });
}

/** The attributes of the first element of this name; null where there is none. */
function attributesOf(html, name) {
  const found = new RegExp(`<${name}\\s([^>]*)>`).exec(html);
  if (!found) return null;
  return Object.fromEntries(
    [...found[1].matchAll(/([\w-]+)(?:="([^"]*)")?/g)].map(([, key, value = '']) => [key, value]),
  );
}

/** The attributes of the element that docs/embedding.md has rows of. */
async function documentedAttributes() {
  const text = await readFile(join(DOCS, 'embedding.md'), 'utf8');
  const [, section] = /^## Attributes and properties$(.*?)^## /ms.exec(text);
  return [...section.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
}

async function commentsOf(url, subject) {
  const [type, ...key] = subject.split('/');
  const path = `/v1/subjects/${type}/${encodeURIComponent(key.join('/'))}/comments`;
  const answer = await fetch(url + path);
  const page = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(page));
  return page.data.map((comment) => comment.content);
}

/** A site whose only page, at every path, has this HTML. */
async function startSite(t, html) {
  const server = createServer((request, response) => {
    const isPage = !request.url.includes('.');
    response.writeHead(isPage ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' });
    response.end(
      isPage
        ? `<!doctype html><title>Hello</title><link rel="canonical" href="${ADDRESS}">${html}`
        : '',
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}${new URL(ADDRESS).pathname}`;
}

let launched;
after(async () => (await launched)?.close());

/** Opens a page with this HTML, on which the files of other systems come from this machine. */
async function open(t, html) {
  launched ??= chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu'],
  });
  const context = await (await launched).newContext({ locale: 'en-US' });
  t.after(() => context.close());
  context.setDefaultTimeout(WAIT_MS);
  const headers = { 'access-control-allow-origin': '*' };
  await context.route('https://unpkg.com/**', (route) => {
    const path = new URL(route.request().url()).pathname.replace(/(.)@[\d.]+\//, '$1/');
    return route.fulfill({ path: join(WIDGETS, 'node_modules', path), headers });
  });
  await context.route('**/js/embed.min.js', (route) =>
    route.fulfill({ path: join(WIDGETS, 'isso/isso/js/embed.min.js') }),
  );
  const page = await context.newPage();
  await page.goto(await startSite(t, html));
  return page;
}

async function checkElement(t, url, html) {
  const attributes = attributesOf(html, 'gailou-comments');
  const documented = await documentedAttributes();
  const unknown = Object.keys(attributes).filter((key) => ![...documented, 'style'].includes(key));
  assert.deepEqual(unknown, []);
  assert.equal(attributesOf(html, 'script').src, `${PLACEHOLDER}/gailou.js`);
  const contents = await commentsOf(url, attributes.subject ?? SUBJECT);
  assert.ok(
    contents.some((content) => content.includes(TEXT)),
    contents.join('\n'),
  );
  if (CHROMIUM) {
    const page = await open(t, html.replaceAll(PLACEHOLDER, url));
    await page.locator('gailou-comments strong', { hasText: TEXT }).first().waitFor();
  }
}

async function checkWidget(t, url, html, { item }) {
  if (!CHROMIUM || !existsSync(join(WIDGETS, 'requirements.txt'))) {
    t.diagnostic('the widget is not shown: there is no browser, or .tools/widgets is missing');
    return;
  }
  const page = await open(t, html.replaceAll(PLACEHOLDER, url));
  await page.locator(item).getByText(TEXT).first().waitFor();
}

describe('from another system to this one, as the documents say', { skip }, () => {
  for (const [name, reader] of Object.entries(PAGES)) {
    test(`docs/from-${name}.md`, async (t) => {
      const text = await readFile(join(DOCS, `from-${name}.md`), 'utf8');
      const place = await prepare(t, reader);
      const { html, settings } = await follow(place, text);
      const url = await startGailou(t, place, settings);
      const elements = html.filter((body) => attributesOf(body, 'gailou-comments'));
      const subjects = elements.map((body) => attributesOf(body, 'gailou-comments').subject);
      assert.ok(subjects.includes(undefined) && subjects.includes(SUBJECT), subjects.join());
      for (const body of elements) await checkElement(t, url, body);
      const widgets = html.filter((body) => !elements.includes(body));
      assert.equal(widgets.length, reader.widget ? 1 : 0);
      for (const body of widgets) {
        assert.ok(body.includes(`${PLACEHOLDER}/compat/${name}`), body);
        await checkWidget(t, url, body, reader.widget);
      }
    });
  }

  test('options that the pages name are ones of the import', async () => {
    const { stdout } = await run(GAILOU, ['import', '--help']);
    for (const name of Object.keys(PAGES)) {
      const text = await readFile(join(DOCS, `from-${name}.md`), 'utf8');
      for (const [, option] of text.matchAll(/`(--[a-z-]+)`/g)) {
        assert.ok(
          stdout.includes(`${option} `) || stdout.includes(`${option}\n`),
          `${name}: ${option}`,
        );
      }
    }
  });

  test('every page is followed, and in the menu', async () => {
    const files = await readdir(DOCS);
    const pages = files.flatMap((file) => /^from-(.+)\.md$/.exec(file)?.[1] ?? []);
    assert.deepEqual(pages.sort(), Object.keys(PAGES).sort());
    const menu = await readFile(join(ROOT, 'edge/web/docs.mjs'), 'utf8');
    for (const page of pages) assert.ok(menu.includes(`'from-${page}'`), page);
  });
});
