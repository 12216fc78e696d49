// A mail server of a test: takes every mail and delivers none.

import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { until } from './console.mjs';

/** Starts one on a free port. `mails` has what it was given, with the headers by their lower-case names. */
export async function startMailServer() {
  const mails = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const chunks = [];
      stream.on('data', (chunk) => chunks.push(chunk));
      stream.on('end', async () => {
        const { text, headers } = await PostalMime.parse(Buffer.concat(chunks));
        mails.push({
          to: session.envelope.rcptTo[0].address,
          headers: Object.fromEntries(headers.map(({ key, value }) => [key, value])),
          text,
        });
        done();
      });
    },
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `smtp://127.0.0.1:${server.server.address().port}`,
    mails,
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
