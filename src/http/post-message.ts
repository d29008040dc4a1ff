import type { Outcome } from '../core/delivery.ts';
import { GatewayError } from '../core/errors.ts';
import { type Timeouts, type Upstream, UpstreamFailure } from './upstream.ts';

const TIMEOUTS: Timeouts = { connectMs: 5_000, firstByteMs: 15_000, idleMs: 5_000, totalMs: 20_000 };

export interface Message {
  readonly url: string;
  /** JSON. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Sends a message to an address that people have set. What is answered beside the status is of no interest. */
export async function postMessage(upstream: Upstream, { url, body, headers, signal }: Message): Promise<Outcome> {
  const sent = new Headers({
    'content-type': 'application/json',
    'user-agent': 'gateway-webhooks',
    'accept-encoding': 'identity',
    ...headers,
  });
  const outgoing = { method: 'POST', url, headers: sent, body: Buffer.from(body), signal, timeouts: TIMEOUTS };
  try {
    const incoming = await upstream.send(outgoing);
    incoming.cancel();
    return { status: incoming.status, error: null };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UpstreamFailure || error instanceof GatewayError)
      return { status: null, error: error.message };
    throw error;
  }
}
