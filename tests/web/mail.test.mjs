// Mails by a server that wants encryption and a password: by TLS from the first byte, and by STARTTLS. Where one of them is
// wrong, `gailou doctor` says what, and the password goes nowhere.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { skip, startGailou } from '../edge/gailou.mjs';
import { startMailServer } from './support/mail-server.mjs';

const execute = promisify(execFile);
const LOGIN = { user: 'comments@example.com', password: 'a@b:c/d %' };
const ACCOUNT = `${encodeURIComponent(LOGIN.user)}:${encodeURIComponent(LOGIN.password)}`;

/** The files of who may sign certificates, and a server's certificate for 127.0.0.1, in PEM. */
async function makeCertificates(folder) {
  const file = (name) => join(folder, name);
  const make = async (name, extensions, more = []) => {
    const head = '[req]\ndistinguished_name = name\nx509_extensions = extensions\nprompt = no\n';
    await writeFile(file('cnf'), `${head}[name]\nCN = ${name}\n[extensions]\n${extensions}\n`);
    await execute('openssl', [
      ...['req', '-x509', '-days', '2', '-nodes', '-newkey', 'ec', '-pkeyopt'],
      ...['ec_paramgen_curve:prime256v1', '-config', file('cnf')],
      ...['-keyout', file(`${name}.key`), '-out', file(`${name}.pem`), ...more],
    ]);
  };
  const authority = 'basicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign';
  for (const name of ['ca', 'other-ca']) await make(name, authority);
  const server = 'basicConstraints = critical, CA:FALSE\nsubjectAltName = IP:127.0.0.1';
  await make('server', server, ['-CA', file('ca.pem'), '-CAkey', file('ca.key')]);
  const [key, cert] = ['server.key', 'server.pem'].map(file);
  return { ca: file('ca.pem'), otherCa: file('other-ca.pem'), key, cert };
}

describe('mail server with encryption and a password', { skip }, () => {
  let folder;
  let certificates;
  let direct;
  let upgraded;
  let plain;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gailou-mail.'));
    certificates = await makeCertificates(folder);
    const files = [certificates.key, certificates.cert];
    const [key, cert] = await Promise.all(files.map((path) => readFile(path)));
    direct = await startMailServer({ secure: true, key, cert, login: LOGIN });
    upgraded = await startMailServer({ key, cert, login: LOGIN });
    plain = await startMailServer({ login: LOGIN });
  });
  after(async () => {
    for (const server of [direct, upgraded, plain]) await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const directUrl = (account = ACCOUNT) => `smtps://${account}@127.0.0.1:${direct.port}`;
  const upgradedUrl = (server = upgraded) =>
    `smtp://${ACCOUNT}@127.0.0.1:${server.port}?tls=required`;
  const settings = (url, ca = certificates.ca) => ({
    GAILOU_MAIL__URL: url,
    GAILOU_MAIL__FROM: 'comments@example.com',
    GAILOU_PUBLIC_URL: 'http://127.0.0.1:8080',
    ...(ca && { GAILOU_MAIL__CA: ca }),
  });

  /** What `gailou doctor` says of mail. */
  async function ask(more) {
    const parameters = ['--data', join(folder, 'asked'), 'doctor'];
    const env = { ...process.env, ...more };
    const answer = await execute(process.env.E2E_GAILOU, parameters, { env }).catch(
      (error) => error,
    );
    return answer.stdout.split('\n').find((line) => /^\S+ +mail /.test(line)) ?? answer.stderr;
  }

  for (const [name, serverOf, urlOf] of [
    ['TLS from the first byte', () => direct, () => directUrl()],
    ['STARTTLS', () => upgraded, () => upgradedUrl()],
  ]) {
    test(`a link that signs in arrives by ${name}`, async () => {
      const more = settings(urlOf());
      assert.match(await ask(more), /^ok +mail /);
      const gailou = await startGailou(join(folder, name.split(' ')[0]), {
        ...more,
        GAILOU_EDGE__REQUIRE_EDGE: 'false',
        GAILOU_SITES: 'http://127.0.0.1',
      });
      try {
        const asked = await fetch(`${gailou.url}/v1/auth/email`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ email: 'ann@example.com', site: 'http://127.0.0.1' }),
        });
        assert.equal(asked.status, 202, await asked.text());
        const { isEncrypted, user } = await serverOf().mailTo('ann@example.com', '/v1/auth/email/');
        assert.deepEqual({ isEncrypted, user }, { isEncrypted: true, user: LOGIN.user });
      } finally {
        await gailou.stop();
      }
    });
  }

  for (const [name, moreOf, expected] of [
    [
      'whose certificates are another file',
      () => settings(directUrl(), certificates.key),
      /no certificate/,
    ],
    ['whose certificate no browser trusts', () => settings(directUrl(), null), /certificate/i],
    [
      'whose certificate another has signed',
      () => settings(directUrl(), certificates.otherCa),
      /certificate/i,
    ],
    ['without encryption', () => settings(upgradedUrl(plain)), /STARTTLS/i],
    ['that refuses the password', () => settings(directUrl('ann:wrong')), /535/],
    [
      'whose certificates are no file',
      () => settings(directUrl(), '/no/such.pem'),
      /\/no\/such\.pem/,
    ],
  ]) {
    test(`doctor says what is wrong with a server ${name}`, async () => {
      const logins = [direct, upgraded, plain].map((server) => server.passwords.length);
      const said = await ask(moreOf());
      assert.match(said, /^(error|warning) +mail /);
      assert.match(said, expected);
      const given = [direct, upgraded, plain].flatMap((server, at) =>
        server.passwords.slice(logins[at]),
      );
      assert.ok(!given.includes(LOGIN.password), 'the password went nowhere');
      assert.ok(!said.includes(LOGIN.password) && !said.includes(ACCOUNT), said);
    });
  }
});
