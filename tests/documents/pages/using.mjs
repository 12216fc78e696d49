// The pages about the program itself: its commands, its interface, and what it asks of other services.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { eventually, token } from '../../edge/gailou.mjs';
import { freePort } from '../../edge/worker.mjs';
import { adapt, assertShape, PIXEL, ROOT, shownJson } from '../page.mjs';
import { call, pathOf, post, showsComments } from '../shared.mjs';

const EXPORTS = join(ROOT, 'tests/data/exports');
const THREADS = join(ROOT, 'tests/data/threads.jsonl');
/** A Python with a reader of YAML: what checks compose.yaml. */
const PYTHON = join(ROOT, '.tools/lint/bin/python');

const lines = (printed) => printed.join('').split('\n').filter(Boolean);

function readYaml(text) {
  const program =
    'import json, sys; from ruamel.yaml import YAML; json.dump(YAML(typ="safe").load(sys.stdin), sys.stdout)';
  return JSON.parse(execFileSync(PYTHON, ['-c', program], { input: text }));
}

/** A server of JSON: what it got, and what it answers next. */
async function startService(page, answer) {
  const got = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    got.push({ headers: request.headers, body });
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  page.atEnd(() => server.close());
  return { url: `http://127.0.0.1:${server.address().port}`, got };
}

export async function readme(page, shared) {
  page.env.PWD = ROOT;
  await page.sh();
  page.env.PWD = page.folder;
  await shared.show(page.next('html'), showsComments);
  await page.sh();

  const typed = [
    ['http://127.0.0.1:8080', shared.url],
    ['target/quick/gailou', 'gailou'],
  ];
  page.env.GAILOU_TOKEN_SECRET = shared.secret;
  const answers = lines(await page.sh({ changes: typed })).map((line) => JSON.parse(line));
  const [posted, list, liked, reply, tree, refused] = answers;
  assert.equal(answers.length, 6);
  assert.equal(posted.content, 'First floor **here**');
  assert.equal(list.data[0].id, posted.id);
  assert.deepEqual([liked.likes, liked.reaction], [1, 'like']);
  assert.deepEqual([reply.parent_id, JSON.stringify(tree).includes(reply.id)], [posted.id, true]);
  const fields = refused.errors.map(({ field }) => field);
  assert.deepEqual([refused.code, fields.sort()], ['invalid_request', ['limit', 'sort']]);
  await usage(page);
}

/** The table of commands: a server, and each of the others beside it. */
async function usage(page) {
  const table = page.next('');
  writeFileSync(join(page.folder, 'threads.jsonl'), readFileSync(THREADS));
  writeFileSync(join(page.folder, 'words.tsv'), 'zzwordzz\tabuse\tblock\n');
  page.env.GAILOU_BIND = `127.0.0.1:${await freePort()}`;
  delete page.env.GAILOU_TOKEN_SECRET;
  const printed = {};
  for (const line of table.trim().split('\n')) {
    const [written] = line.split(/ {2,}/);
    const command = written
      .replaceAll(/[[\]]/g, '')
      .replace(/\bFILE$/, 'threads.jsonl')
      .replace('FILE.tsv', 'words.tsv')
      .replace('restore PATH', 'restore backup --data restored')
      .replace(/\bPATH$/, 'backup');
    if (command === 'gailou') await page.start(command);
    else printed[command.split(' ')[1]] = await page.type(command);
  }
  assert.match(printed.import, /^\{"imported":[1-9]/m);
  assert.match(printed.export, /^\{"subject":/m);
  assert.match(printed.admin, /http:\/\/\S+/);
  assert.match(printed.token, /^\S+\.\S+\.\S+$/m);
  assert.match(printed.restore, /"comments":[1-9]/);
}

export async function contributing(page) {
  page.env.PWD = ROOT;
  await page.sh();
}

export async function alerts(page) {
  const { inhibit_rules: inhibitions } = readYaml(page.next('yaml'));
  const rules = readYaml(readFileSync(join(ROOT, 'examples/deploy/monitoring/rules.yml')));
  const severities = rules.groups.flatMap((group) =>
    group.rules.flatMap((rule) => rule.labels?.severity ?? []),
  );
  for (const { source_matchers: source, target_matchers: target, equal } of inhibitions) {
    for (const matcher of [...source, ...target]) {
      const [, name, value] = matcher.match(/^(\w+)="(\w+)"$/);
      assert.ok(name === 'severity' && severities.includes(value), matcher);
    }
    assert.deepEqual(equal, ['alertname', 'job']);
  }
  page.env.PWD = join(ROOT, 'examples/deploy/monitoring');
  await page.sh();
  const applied = readYaml(readFileSync(join(page.folder, 'applied.yaml')));
  assert.equal(applied.kind, 'PrometheusRule');
  assert.deepEqual(applied.spec, rules);
}

export async function importing(page) {
  for (const name of ['disqus.xml', 'twikoo.json'])
    cpSync(join(EXPORTS, name), join(page.folder, name));
  const imported = (printed) => JSON.parse(lines([printed]).at(-1)).imported;
  const [trial, written] = await page.sh({ changes: [['export.xml', 'disqus.xml']] });
  assert.ok(JSON.parse(lines([trial]).at(-1)).comments > 0, trial);
  assert.ok(imported(written) > 0, written);
  const [counted, fetched] = await page.sh();
  assert.ok(JSON.parse(lines([counted]).at(-1)).pictures > 0, counted);
  assert.ok(imported(fetched) > 0, fetched);

  writeFileSync(join(page.folder, 'map.tsv'), page.next(''));
  const addresses = ['about', 'posts/a', '2020/hello'].map(
    (path) => `https://blog.example/${path}`,
  );
  const comments = addresses.map((href, number) => ({
    _id: `m${number}`,
    nick: 'Ann',
    url: new URL(href).pathname,
    href,
    comment: 'x',
    created: 1_654_000_000_000,
  }));
  writeFileSync(join(page.folder, 'mapped.json'), JSON.stringify(comments));
  const mapped = await page.type('gailou import --from twikoo mapped.json --map map.tsv --dry-run');
  const subjects = lines([mapped])
    .slice(0, -1)
    .map((line) => line.split('\t')[0]);
  assert.deepEqual(subjects.sort(), ['article/a', 'article/about', 'article/hello']);

  const backups = join(page.folder, 'backups');
  mkdirSync(backups);
  const [, again] = await page.sh({
    changes: [
      ['/srv/gailou-backups/', `${backups}/`],
      ['/backups/disqus.xml', `${backups}/disqus.xml`],
    ],
  });
  assert.equal(imported(again), 0, 'it is there already');

  const { url } = await page.start('gailou --bind 127.0.0.1:0');
  const admin = (await page.type('gailou token --sub 1 --name Root --role admin')).trim();
  const settings = JSON.parse(page.next('json'));
  await call(url, 'PATCH', '/v1/admin/settings', { token: admin, json: settings });
  writeFileSync(join(page.folder, 'lines.jsonl'), page.next('json') + page.next('json'));
  assert.equal(imported(await page.type('gailou import lines.jsonl --strict')), 1);
  const subject = await call(url, 'GET', pathOf('article/hello'));
  assert.deepEqual([subject.title, subject.comments], ['Hello, world', 1]);
}

/** The line of a log that the page has as an example is in the program. */
export function logging(page) {
  const statement = page.next('rust').trim();
  execFileSync('git', ['grep', '--quiet', '--fixed-strings', statement, '--', 'origin/src'], {
    cwd: ROOT,
  });
}

export async function media(page, shared) {
  writeFileSync(join(page.folder, 'cat.jpg'), PIXEL);
  page.env.TOKEN = shared.member;
  const block = page.peek();
  const [, shown] = block.match(/^# (\{.*\})$/m);
  const [upload, comment] = await page.sh({
    changes: [
      ['http://127.0.0.1:8787', shared.url],
      [` -F alt=`, ` -o upload.json -F alt=`],
      [
        `'{"content":"Look","media":["…"]}'`,
        `"{\\"content\\":\\"Look\\",\\"media\\":[\\"$(jq -r .id upload.json)\\"]}"`,
      ],
    ],
  });
  assert.equal(upload.trim(), '');
  const uploaded = JSON.parse(readFileSync(join(page.folder, 'upload.json')));
  assertShape(shownJson(shown), { ...uploaded, url: uploaded.url.replace('.png', '.jpg') });
  assert.deepEqual(JSON.parse(comment).media[0].id, uploaded.id);
  await page.sh();
  await page.checkSettings();
}

export async function moderation(page, shared) {
  const [asked, verdict] = [page.next('json'), page.next('json')].map((text) => JSON.parse(text));
  const [asking, known] = [page.next('json'), page.next('json')].map((text) => JSON.parse(text));
  const classifier = await startService(page, verdict);
  const accounts = await startService(page, known);
  Object.assign(page.env, {
    GAILOU_TOKEN_SECRET: shared.secret,
    GAILOU_CLASSIFIER__KIND: 'json',
    GAILOU_CLASSIFIER__URL: classifier.url,
    GAILOU_CLASSIFIER__KEY: 'a key of the classifier',
    GAILOU_RULES__CLASSIFIED: 'everyone',
    GAILOU_ACCOUNTS__URL: accounts.url,
    GAILOU_ACCOUNTS__KEY: 'a key of the accounts',
  });
  const { url } = await page.start('gailou --bind 127.0.0.1:0');
  const { id } = await post({ url, member: shared.member }, asked.subject, asked.content);
  const [classified] = classifier.got;
  assert.equal(classified.headers.authorization, 'Bearer a key of the classifier');
  assertShape(asked, JSON.parse(classified.body));
  const queue = await call(url, 'GET', '/v1/admin/queue', { token: shared.admin });
  const held = queue.data.find(({ comment }) => comment.id === id);
  assert.deepEqual(
    held.why.map(({ detail }) => detail),
    verdict.labels,
  );

  const [request] = accounts.got;
  assert.equal(request.headers.authorization, 'Bearer a key of the accounts');
  assertShape({ ids: asking.ids.slice(0, 1) }, JSON.parse(request.body));
  const { account } = await call(url, 'GET', '/v1/admin/members/7', { token: shared.admin });
  const { name, avatar, level, friends } = known.data[7];
  await post({ url, member: token(friends[0], 'Bob') }, asked.subject, 'Of a friend');
  const decision = { token: shared.admin, json: { action: 'approve' } };
  const [waiting] = (
    await call(url, 'GET', '/v1/admin/queue', { token: shared.admin })
  ).data.filter(({ comment }) => comment.author.id === friends[0]);
  await call(url, 'POST', `/v1/admin/comments/${waiting.comment.id}/decision`, decision);
  const path = `/v1/me/friends/comments?subject=${asked.subject}`;
  const ofFriends = await call(url, 'GET', path, { token: shared.member });
  assert.deepEqual(
    ofFriends.data.map(({ content }) => content),
    ['Of a friend'],
  );
  assert.deepEqual([account.name, account.avatar, account.level], [name, avatar, level]);
}

export async function operations(page) {
  const backups = join(page.folder, 'backups');
  mkdirSync(backups);
  await page.sh();
  await page.checkSettings();
  const { url } = await page.start('gailou --bind 127.0.0.1:0');
  const member = (await page.type('gailou token --sub 7 --name Ann')).trim();
  await post({ url, member }, 'article/hello', 'It is in the backup');
  const place = ['/backups/', `${backups}/`];
  const [backup, restored] = await page.sh({
    changes: [place, ['/var/lib/gailou-restored', 'gailou-restored']],
  });
  for (const summary of [backup, restored]) assert.match(summary, /"comments":1\b/);

  // In a container.
  await page.sh();
  await page.sh({ changes: [place, ['$(date +%F-%H%M)', '2026-11-25-0400']] });
  await page.stopServers();
  assert.match((await page.sh({ changes: [place] })).join(''), /"comments":1\b/);
  assert.match((await page.sh({ changes: [place] })).join(''), /"comments":1\b/);

  const collector = await startService(page, {});
  page.env.OTEL_BSP_SCHEDULE_DELAY = '100';
  const command = adapt(page.next('sh'), [
    ['GAILOU_TELEMETRY__OTLP_URL=', 'env GAILOU_TELEMETRY__OTLP_URL='],
    ['http://127.0.0.1:4318', collector.url],
    ['=1 gailou', '=1 gailou --bind 127.0.0.1:0'],
  ]);
  const traced = await page.start(command.trim());
  await fetch(`${traced.url}/v1/subjects/article/hello/comments`);
  await eventually(() => collector.got.some(({ body }) => body.includes('GET /v1/subjects/')));
}

export async function search(page) {
  await page.sh({ changes: [['GAILOU_SEARCH__PASSWORD=…', 'GAILOU_SEARCH__PASSWORD=secret']] });
  await page.checkSettings();
}

export async function testing(page) {
  page.env.PWD = ROOT;
  await page.sh();
  await page.sh();
}

export async function webhooks(page, shared) {
  const [head, body] = page.next('http').trim().split('\n\n');
  const receiver = await startService(page, {});
  const { secret, id } = await shared.call('POST', '/v1/admin/webhooks', {
    token: shared.admin,
    json: { url: `${receiver.url}/hook`, events: ['comment.created'] },
  });
  page.atEnd(() => shared.call('DELETE', `/v1/admin/webhooks/${id}`, { token: shared.admin }));
  await post(shared, 'article/webhooks', 'It is sent');
  await eventually(() => receiver.got.length > 0);
  const [{ headers, body: rawBody }] = receiver.got;
  for (const line of head.split('\n').slice(1)) {
    const [name, value] = line.split(': ');
    const pattern = value.replaceAll(/[\w+/=]{10,}/g, '…');
    assertShape(pattern, headers[name], name);
  }
  assertShape(shownJson(body), JSON.parse(rawBody));

  const verify = adapt(page.next('js'), [
    ["import { Webhook } from 'standardwebhooks';", ''],
    ['const message = ', 'return '],
  ]);
  const { Webhook } = createRequire(import.meta.url)('standardwebhooks');
  const run = new Function('Webhook', 'process', 'rawBody', 'request', verify);
  const message = run(Webhook, { env: { WEBHOOK_SECRET: secret } }, rawBody, { headers });
  assert.equal(message.data.comment.content, 'It is sent');
  assert.throws(() =>
    run(Webhook, { env: { WEBHOOK_SECRET: secret } }, `${rawBody} `, { headers }),
  );
}
