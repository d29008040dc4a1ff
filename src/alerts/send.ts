import type { Outcome } from '../core/delivery.ts';
import { signatureHeaders } from '../crypto/webhook-signature.ts';
import type { EgressPolicy } from '../http/egress.ts';
import { postMessage } from '../http/post-message.ts';
import type { Upstream } from '../http/upstream.ts';
import { type Channel, isMail } from './channel.ts';
import { sendMail } from './mail.ts';
import { slackMessage, teamsMessage } from './shapes.ts';
import type { Telling } from './telling.ts';

export interface SendDeps {
  readonly upstream: Upstream;
  readonly egress: EgressPolicy;
  readonly now: () => number;
}

/** Tells one channel once. */
export type Send = (channel: Channel, telling: Telling, signal: AbortSignal) => Promise<Outcome>;

export const createSend =
  ({ upstream, egress, now }: SendDeps): Send =>
  (channel, telling, signal) => {
    const { settings, secrets } = channel;
    if (isMail(settings)) return sendMail(egress, settings, telling, signal);
    const { url } = settings;
    const body = JSON.stringify(bodyFor(channel.kind, telling));
    const headers = secrets ? signatureHeaders({ id: telling.id, body }, secrets, now()) : { 'webhook-id': telling.id };
    return postMessage(upstream, { url, body, headers, signal });
  };

const bodyFor = (kind: Channel['kind'], telling: Telling): unknown =>
  kind === 'slack' ? slackMessage(telling) : kind === 'teams' ? teamsMessage(telling) : telling;
