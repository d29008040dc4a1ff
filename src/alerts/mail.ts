import { isIP } from 'node:net';
import type { Outcome } from '../core/delivery.ts';
import { fail, GatewayError } from '../core/errors.ts';
import { openTunnel } from '../http/client/tunnel.ts';
import type { EgressPolicy } from '../http/egress.ts';
import { checkStoredAddress } from '../http/stored-address.ts';
import type { MailSettings } from './channel.ts';
import { mailText } from './shapes.ts';
import { type Telling, titleOf } from './telling.ts';

const CONNECT_MS = 5_000;
const GREETING_MS = 10_000;
const IDLE_MS = 15_000;
const MOST_SUBJECT = 200;

/** The server as an address that the egress policy can judge: what is not encrypted goes to trusted hosts only. */
const addressOf = ({ host, port, security }: MailSettings): string =>
  `${security === 'none' ? 'http' : 'https'}://${host}:${port}/`;

/** Throws 400 for a server that no mail may be sent through. */
export async function checkServer(egress: EgressPolicy, settings: MailSettings): Promise<void> {
  try {
    await checkStoredAddress(egress, addressOf(settings), 'settings.host');
  } catch (error) {
    const rule = error instanceof GatewayError ? String(error.facts[1]) : '';
    if (!rule.startsWith('plain http')) throw error;
    const right = 'mail without encryption only to hosts in TRUSTED_CUSTOM_HOSTS; give tls or starttls';
    fail('egress_refused', settings.host, right, 'settings.security');
  }
}

/** Sends one mail over a connection of its own, to the address that the egress policy has checked. */
export async function sendMail(
  egress: EgressPolicy,
  settings: MailSettings,
  telling: Telling,
  signal: AbortSignal,
): Promise<Outcome> {
  const { host, port, security, username, password, from, to } = settings;
  try {
    const { origin, via } = await egress.admit(addressOf(settings));
    const server = { hostname: new URL(origin).hostname.replace(/^\[|\]$/g, ''), port };
    // Loaded with the first mail: most installations send none.
    const { createTransport } = await import('nodemailer');
    const tunnel = via ? await openTunnel(via, server, CONNECT_MS) : null;
    const transport = createTransport({
      host: server.hostname,
      port,
      ...(tunnel && { connection: tunnel }),
      secure: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'none',
      // What it calls itself; the name of this machine is not theirs to know.
      name: domainOf(from),
      auth: username && password ? { user: username, pass: password } : undefined,
      tls: { servername: isIP(host) === 0 ? host : undefined, minVersion: 'TLSv1.2' },
      connectionTimeout: CONNECT_MS,
      greetingTimeout: GREETING_MS,
      socketTimeout: IDLE_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const sending = transport.sendMail({
      from,
      to,
      subject: titleOf(telling).slice(0, MOST_SUBJECT),
      text: mailText(telling),
      // The same each time it is tried, so that receivers can drop doubles.
      messageId: `<${telling.id}@${domainOf(from)}>`,
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Gateway-Alert': telling.type },
    });
    const { rejected } = await untilAborted(sending, signal);
    const refused = rejected.map(String).join(', ');
    return { status: 250, error: refused === '' ? null : `not taken for ${refused}` };
  } catch (error) {
    signal.throwIfAborted();
    const { responseCode = null } = error as { responseCode?: number | null };
    return { status: responseCode, error: withoutSecret((error as Error).message, password) };
  }
}

const domainOf = (mailbox: string): string => mailbox.slice(mailbox.lastIndexOf('@') + 1);

/** Servers quote what they were sent. */
function withoutSecret(text: string, secret: string | null | undefined): string {
  if (!secret) return text;
  return [secret, Buffer.from(secret).toString('base64')].reduce((shown, each) => shown.replaceAll(each, '***'), text);
}

async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener('abort', abort);
  // A send that goes on after the abort ends by its own timeouts.
  work.catch(() => {});
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
