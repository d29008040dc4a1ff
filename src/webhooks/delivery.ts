import { GatewayError } from '../core/errors.ts';
import type { Sealer } from '../crypto/seal.ts';
import { createAddressSealer } from '../crypto/sealed-address.ts';
import { signatureHeaders } from '../crypto/webhook-signature.ts';
import { type Timeouts, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import type { WebhookRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Kind } from '../work/work.ts';
import type { Delivery, WebhookEvent } from './webhook.ts';
import { DELIVER, type DeliveryPayload, openSecrets } from './webhooks.ts';

export interface DeliveryDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly upstream: Upstream;
  readonly random: () => number;
  readonly now: () => number;
}

const TIMEOUTS: Timeouts = { connectMs: 5_000, firstByteMs: 15_000, idleMs: 5_000, totalMs: 20_000 };
const FIRST_WAIT_MS = 5_000;
const MOST_WAIT_MS = 14_400_000;
/** With these waits, a receiver is tried for nine to eighteen hours. */
const MOST_TRIES = 16;
/** Receivers that will never want this message again say so. */
const GONE = 410;
const SHOWN_CHARACTERS = 300;

/** How it went: the status that was answered, or why there was none. */
type Outcome = { readonly status: number } | { readonly error: string };

/** Tells one receiver of one event, again and again until it has understood. At least once; its id says which. */
export function deliveryKind({ store, sealer, upstream, random, now }: DeliveryDeps): Kind {
  const addresses = createAddressSealer(sealer, 'webhook');
  const send = async (webhook: WebhookRow, event: WebhookEvent, signal: AbortSignal): Promise<Outcome> => {
    const body = JSON.stringify(event);
    const headers = new Headers({
      'content-type': 'application/json',
      'user-agent': 'gateway-webhooks',
      'accept-encoding': 'identity',
      ...signatureHeaders({ id: event.id, body }, openSecrets(sealer, webhook), now()),
    });
    try {
      const outgoing = { method: 'POST', url: addresses.open(webhook), headers, body: Buffer.from(body), signal };
      const incoming = await upstream.send({ ...outgoing, timeouts: TIMEOUTS });
      // What it says beside the status is of no interest.
      incoming.cancel();
      return { status: incoming.status };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof UpstreamFailure || error instanceof GatewayError) return { error: error.message };
      throw error;
    }
  };

  return {
    name: DELIVER,
    concurrency: 8,
    // Deaths of processes count; a receiver that is away is counted in the payload.
    maxAttempts: 20,
    run: async (lease) => {
      const { event, tries } = lease.work.payload as DeliveryPayload;
      const webhook = await store.db
        .selectFrom('webhooks')
        .selectAll()
        .where('id', '=', lease.work.ref)
        .executeTakeFirst();
      if (!webhook?.is_enabled) return lease.transaction((db) => lease.done(db));
      const outcome = await send(webhook, event, lease.signal);
      const attempts = tries + 1;
      const delivery = deliveryOf(event, outcome, attempts, now());
      await lease.transaction(async (db) => {
        await note(db, webhook.id, delivery);
        if (delivery.status !== 'retrying') return lease.done(db);
        const fullMs = Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries);
        const next: DeliveryPayload = { event, tries: attempts };
        return lease.reschedule(db, { afterMs: fullMs * (0.5 + random() / 2) }, next);
      });
    },
    failed: async (db, { ref, payload }) => {
      const { event, tries } = payload as DeliveryPayload;
      await note(db, ref, { ...deliveryOf(event, GAVE_UP, tries, now()), status: 'failed' });
    },
    cancelled: async () => {},
  };
}

const GAVE_UP: Outcome = { error: 'the gateway failed again and again' };

const note = (db: Db, id: string, delivery: Delivery) =>
  db
    .updateTable('webhooks')
    .set({ last_delivery: JSON.stringify(delivery) })
    .where('id', '=', id)
    .execute();

function deliveryOf(event: WebhookEvent, outcome: Outcome, attempts: number, now: number): Delivery {
  const status = 'status' in outcome ? outcome.status : null;
  const isTaken = status !== null && status >= 200 && status < 300;
  const isOver = status === GONE || attempts >= MOST_TRIES;
  return {
    event_id: event.id,
    status: isTaken ? 'delivered' : isOver ? 'failed' : 'retrying',
    at: new Date(now).toISOString(),
    attempts,
    response_status: status,
    error: 'error' in outcome ? outcome.error.slice(0, SHOWN_CHARACTERS) : null,
  };
}
