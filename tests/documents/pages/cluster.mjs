// The page about clusters, with servers that run: it starts one, backs it up, and lets an installation grow and come back.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../../edge/worker.mjs';
import { ROOT } from '../page.mjs';
import { post } from '../shared.mjs';

/** Empty databases for a cluster with this name; the addresses. */
function makeDatabases(page, name) {
  const servers = process.env.GAILOU_TEST_SERVICES.split(';').slice(0, 2);
  const sql = (server, statement) => {
    const { hostname, port } = new URL(server);
    const client = [
      '--no-defaults',
      '--user=root',
      '--protocol=tcp',
      `--host=${hostname}`,
      `--port=${port}`,
    ];
    execFileSync('mariadb', [...client, `--execute=${statement} ${name}`]);
  };
  for (const server of servers) sql(server, 'CREATE DATABASE');
  page.atEnd(() => {
    for (const server of servers) sql(server, 'DROP DATABASE');
  });
  return servers.map((server) => `${server}/${name}`);
}

export async function cluster(page, shared) {
  const [, , redis, kafka] = process.env.GAILOU_TEST_SERVICES.split(';');
  const name = `d${randomBytes(6).toString('hex')}`;
  const [one, other] = makeDatabases(page, name);
  const port = await freePort();
  Object.assign(page.env, {
    GAILOU_CLUSTER__NAME: name,
    GAILOU_CLUSTER__TABLES: '2',
    GAILOU_CLUSTER__PARTITIONS: '4',
  });
  const printed = await page.sh({
    servers: /^gailou (serve|job) /,
    changes: [
      ['mysql://gailou:…@db1/gailou', one],
      ['mysql://gailou:…@db2/gailou', other],
      ['redis://cache:6379', redis],
      ['kafka1:9092,kafka2:9092,kafka3:9092', kafka],
      ['REPLICATION=3', 'REPLICATION=1'],
      ['GAILOU_TOKEN_SECRET=…', `GAILOU_TOKEN_SECRET=${shared.secret}`],
      ['0.0.0.0:8080', `127.0.0.1:${port}`],
    ],
  });
  for (const part of ['MySQL', 'Redis', 'Kafka'])
    assert.match(printed.at(-1), new RegExp(part, 'i'));
  const url = `http://127.0.0.1:${port}`;
  await post({ url, member: shared.member }, 'article/hello', 'It is in the cluster');

  const settings = { ...page.env };
  page.env.PWD = ROOT;
  await page.sh();
  await page.sh();

  // Connections that are encrypted: the settings are taken.
  const authority = join(page.folder, 'ca.pem');
  const made = [
    '-keyout',
    join(page.folder, 'ca.key'),
    '-out',
    authority,
    '-subj',
    '/CN=authority',
  ];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...made], {
    stdio: 'ignore',
  });
  await page.sh({
    changes: [
      ['gailou:…@', 'gailou:secret@'],
      ['rediss://:…@', 'rediss://:secret@'],
      ['KAFKA_PASSWORD=…', 'KAFKA_PASSWORD=secret'],
      ['/etc/gailou/ca.pem', authority],
    ],
  });
  await page.checkSettings();
  page.env = settings;

  const backups = join(page.folder, 'backups');
  mkdirSync(backups);
  const changes = [['/backups/', `${backups}/`]];
  const counted = (summary) => JSON.parse(summary.trim().split('\n').at(-1)).comments;
  assert.equal(counted((await page.sh({ changes })).join('')), 1);
  await page.stopServers();

  // From one machine to another cluster, and back.
  const addresses = ['GAILOU_MYSQL_URLS', 'GAILOU_REDIS_URLS', 'GAILOU_KAFKA_BROKERS'];
  const embedded = join(page.folder, 'embedded');
  const cleared = `env ${addresses.map((variable) => `-u ${variable}`).join(' ')}`;
  await page.type(
    `${cleared} gailou import '${join(ROOT, 'tests/data/threads.jsonl')}' --data '${embedded}'`,
  );
  for (const variable of addresses) delete page.env[variable];
  const grown = await page.sh({ changes: [...changes, ['/var/lib/gailou', embedded]] });
  page.env = {
    ...settings,
    GAILOU_CLUSTER__NAME: `${name}g`,
    GAILOU_MYSQL_URLS: makeDatabases(page, `${name}g`).join(','),
  };
  const [restored] = await page.sh({ changes });
  assert.equal(counted(restored), counted(grown[0]));
  const back = [
    ['/backups/last', `${backups}/back`],
    ['/var/lib/gailou', join(page.folder, 'back')],
  ];
  const [copied, again] = await page.sh({ changes: back });
  assert.deepEqual([counted(copied), counted(again)], [counted(restored), counted(restored)]);
}
