// A mail server of a test: takes every mail and delivers none.

import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { until } from './console.mjs';

/**
 * Starts one on a free port. `mails` has what it was given, with the headers by their lower-case names. With `key` and
 * `cert` it has encryption, from the first byte where `secure` is true; with `login` it takes mails from this account
 * alone, and `passwords` are those that it was given.
 */
export async function startMailServer({ secure = false, key, cert, login } = {}) {
  const mails = [];
  const passwords = [];
  const server = new SMTPServer({
    secure,
    ...(key && { key, cert }),
    authOptional: !login,
    allowInsecureAuth: true,
    disabledCommands: key ? [] : ['STARTTLS'],
    onAuth({ username, password }, _, done) {
      passwords.push(password);
      const isRight = username === login?.user && password === login.password;
      done(isRight ? null : new Error('wrong'), isRight && { user: username });
    },
    onData(stream, session, done) {
      const chunks = [];
      stream.on('data', (chunk) => chunks.push(chunk));
      stream.on('end', async () => {
        const { text, headers } = await PostalMime.parse(Buffer.concat(chunks));
        mails.push({
          to: session.envelope.rcptTo[0].address,
          isEncrypted: Boolean(session.secure),
          user: session.user,
          headers: Object.fromEntries(headers.map(({ key, value }) => [key, value])),
          text,
        });
        done();
      });
    },
  });
  // A client that does not like the certificate ends the connection.
  server.on('error', () => {});
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.server.address();
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    mails,
    passwords,
    /** The first mail to an address whose text has this in it. */
    mailTo: async (address, part) => {
      const find = () => mails.find(({ to, text }) => to === address && text.includes(part));
      await until(
        async () => find() ?? mails.map(({ to, headers }) => [to, headers.subject]),
        () => find(),
      );
      return find();
    },
    stop: () => new Promise((done) => server.close(done)),
  };
}
