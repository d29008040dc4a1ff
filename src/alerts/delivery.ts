import { type Delivery, deliveryOf, GAVE_UP, waitAfter } from '../core/delivery.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Kind } from '../work/work.ts';
import { createChannelSealer, DELIVER, type DeliveryPayload } from './channels.ts';
import type { Deliveries } from './rule.ts';
import type { Send } from './send.ts';

export interface DeliveryDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly send: Send;
  readonly random: () => number;
  readonly now: () => number;
}

/** Tells one channel one thing, again and again until it has understood. At least once; its id says which. */
export function deliveryKind({ store, sealer, send, random, now }: DeliveryDeps): Kind {
  const { open } = createChannelSealer(sealer);
  return {
    name: DELIVER,
    concurrency: 8,
    // Deaths of processes count; a receiver that is away is counted in the payload.
    maxAttempts: 20,
    run: async (lease) => {
      const { telling, tries } = lease.work.payload as DeliveryPayload;
      const row = await store.db
        .selectFrom('alert_channels')
        .selectAll()
        .where('id', '=', lease.work.ref)
        .executeTakeFirst();
      if (!row?.is_enabled) return lease.transaction((db) => lease.done(db));
      const outcome = await send(open(row), telling, lease.signal);
      const attempts = tries + 1;
      const delivery = deliveryOf(telling.id, outcome, attempts, now());
      await lease.transaction(async (db) => {
        await note(db, store, row.id, delivery);
        if (delivery.status !== 'retrying') return lease.done(db);
        const next: DeliveryPayload = { telling, tries: attempts };
        return lease.reschedule(db, { afterMs: waitAfter(attempts, random) }, next);
      });
    },
    failed: async (db, { ref, payload }) => {
      const { telling, tries } = payload as DeliveryPayload;
      await note(db, store, ref, { ...deliveryOf(telling.id, GAVE_UP, tries, now()), status: 'failed' });
    },
    cancelled: async () => {},
  };
}

/** At the channel, and in the history of the alert. */
async function note(db: Db, { engine }: Store, channelId: string, delivery: Delivery): Promise<void> {
  await db
    .updateTable('alert_channels')
    .set({ last_delivery: JSON.stringify(delivery) })
    .where('id', '=', channelId)
    .execute();
  const { event_id } = delivery;
  const query = db.selectFrom('alert_events').select('channels').where('id', '=', event_id);
  // Other channels of the event may be told at the same moment.
  const event = await (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
  if (!event) return;
  const channels = { ...(JSON.parse(event.channels) as Deliveries), [channelId]: delivery };
  await db
    .updateTable('alert_events')
    .set({ channels: JSON.stringify(channels) })
    .where('id', '=', event_id)
    .execute();
}
