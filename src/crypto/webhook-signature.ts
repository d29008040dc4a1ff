import { createHmac, randomBytes } from 'node:crypto';

/** What messages to one receiver are signed with. A secret that was replaced signs along for a while. */
export interface Secrets {
  readonly current: string;
  readonly previous?: { readonly secret: string; readonly until: number };
}

/** Standard Webhooks: 24 to 64 random bytes in base64 behind this prefix. */
const PREFIX = 'whsec_';
/** Receivers have so long to learn the new secret. */
const OVERLAP_MS = 86_400_000;

const newSecret = (): string => PREFIX + randomBytes(32).toString('base64');

export const newSecrets = (): Secrets => ({ current: newSecret() });

export const replaced = ({ current }: Secrets, now: number): Secrets => ({
  current: newSecret(),
  previous: { secret: current, until: now + OVERLAP_MS },
});

/** The headers that prove who sent a message, and when: Standard Webhooks, symmetric. */
export function signatureHeaders(
  { id, body }: { readonly id: string; readonly body: string },
  { current, previous }: Secrets,
  now: number,
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000));
  const secrets = previous && previous.until > now ? [current, previous.secret] : [current];
  const sign = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64'))
      .update(`${id}.${timestamp}.${body}`)
      .digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret)}`).join(' '),
  };
}
