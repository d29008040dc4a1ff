import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  /** Who signed in to send it. */
  readonly user: string | undefined;
  readonly isSecure: boolean;
}

/** A real SMTP server on this machine that keeps what it is sent. */
export async function startMailServer(options: SMTPServerOptions = {}) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: options.key === undefined,
    // Some servers quote what they were sent.
    onAuth: ({ username, password }, _session, done) =>
      password === 'mail-password-1' ? done(null, { user: username }) : done(new Error(`wrong password ${password}`)),
    onData: (stream, session, done) => {
      const pieces: Buffer[] = [];
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(pieces).toString(),
          user: session.user as string | undefined,
          isSecure: session.secure,
        });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as { port: number };
  return { port, mails, stop: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}
