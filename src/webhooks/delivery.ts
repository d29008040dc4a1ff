import { type Delivery, deliveryOf, GAVE_UP, waitAfter } from '../core/delivery.ts';
import type { Sealer } from '../crypto/seal.ts';
import { createAddressSealer } from '../crypto/sealed-address.ts';
import { signatureHeaders } from '../crypto/webhook-signature.ts';
import { postMessage } from '../http/post-message.ts';
import type { Upstream } from '../http/upstream.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Kind } from '../work/work.ts';
import { DELIVER, type DeliveryPayload, openSecrets } from './webhooks.ts';

export interface DeliveryDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly upstream: Upstream;
  readonly random: () => number;
  readonly now: () => number;
}

/** Tells one receiver of one event, again and again until it has understood. At least once; its id says which. */
export function deliveryKind({ store, sealer, upstream, random, now }: DeliveryDeps): Kind {
  const addresses = createAddressSealer(sealer, 'webhook');
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
      const body = JSON.stringify(event);
      const headers = signatureHeaders({ id: event.id, body }, openSecrets(sealer, webhook), now());
      const { signal } = lease;
      const outcome = await postMessage(upstream, { url: addresses.open(webhook), body, headers, signal });
      const attempts = tries + 1;
      const delivery = deliveryOf(event.id, outcome, attempts, now());
      await lease.transaction(async (db) => {
        await note(db, webhook.id, delivery);
        if (delivery.status !== 'retrying') return lease.done(db);
        const next: DeliveryPayload = { event, tries: attempts };
        return lease.reschedule(db, { afterMs: waitAfter(attempts, random) }, next);
      });
    },
    failed: async (db, { ref, payload }) => {
      const { event, tries } = payload as DeliveryPayload;
      await note(db, ref, { ...deliveryOf(event.id, GAVE_UP, tries, now()), status: 'failed' });
    },
    cancelled: async () => {},
  };
}

const note = (db: Db, id: string, delivery: Delivery) =>
  db
    .updateTable('webhooks')
    .set({ last_delivery: JSON.stringify(delivery) })
    .where('id', '=', id)
    .execute();
