import type { EventType, Notify } from '../area/notify.ts';
import { fail } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { changedAddress, refuseMaskedAddress } from '../core/masked-address.ts';
import { newObjectId } from '../core/object-ids.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { Sealer } from '../crypto/seal.ts';
import { createAddressSealer } from '../crypto/sealed-address.ts';
import { newSecrets, replaced, type Secrets } from '../crypto/webhook-signature.ts';
import type { EgressPolicy } from '../http/egress.ts';
import { checkStoredAddress } from '../http/stored-address.ts';
import { lockName } from '../storage/name-lock.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { WebhookRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { workspaceFor } from '../storage/workspace-lookup.ts';
import type { Workers } from '../work/workers.ts';
import { shownWebhook, type Webhook, type WebhookEvent } from './webhook.ts';

/** The work of telling one receiver of one event. */
export const DELIVER = 'webhook.deliver';

export interface DeliveryPayload {
  readonly event: WebhookEvent;
  /** How often it was tried. */
  readonly tries: number;
}

export interface WebhookInput {
  readonly name: string;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly is_enabled?: boolean;
  readonly workspace_id?: string;
}

export interface WebhooksDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly egress: EgressPolicy;
  readonly workers: () => Workers;
  readonly now: () => number;
}

const MOST = 20;

export const sealSecrets = (sealer: Sealer, id: string, secrets: Secrets): string =>
  sealer.seal('webhook', id, JSON.stringify(secrets));
export const openSecrets = (sealer: Sealer, { id, sealed }: Pick<WebhookRow, 'id' | 'sealed'>): Secrets =>
  JSON.parse(sealer.open('webhook', id, sealed));

/** Receivers of news, by workspace. */
export function createWebhooks({ store, sealer, egress, workers, now }: WebhooksDeps) {
  const addresses = createAddressSealer(sealer, 'webhook');
  const opened = (row: WebhookRow): WebhookRow => ({ ...row, url: addresses.open(row) });
  const sealed = (row: WebhookRow): WebhookRow => ({ ...row, url: addresses.seal(row.id, row.url) });
  const checkAddress = (url: string) => checkStoredAddress(egress, url, 'url');

  const visible = (db: Db, who: Principal) => {
    const query = db.selectFrom('webhooks').where('organisation_id', '=', who.organisationId);
    return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
  };
  const find = async (db: Db, who: Principal, id: string): Promise<WebhookRow> => {
    const row = await visible(db, who).selectAll().where('id', '=', id).executeTakeFirst();
    return row ? opened(row) : fail('webhook_not_found', id.slice(0, 80));
  };
  /** For a change: two of them follow each other, so that none writes back what the other has replaced. */
  const lock = async (db: Db, who: Principal, id: string): Promise<WebhookRow> => {
    const query = visible(db, who).selectAll().where('id', '=', id);
    const row = await (store.engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
    return row ? opened(row) : fail('webhook_not_found', id.slice(0, 80));
  };
  const save = (db: Db, row: WebhookRow) =>
    // How the last delivery went is not the administrator's to write, and may change meanwhile.
    db
      .updateTable('webhooks')
      .set({ ...sealed(row), last_delivery: undefined })
      .where('id', '=', row.id)
      .execute();

  const notify: Notify = async (db, { workspaceId, type, id }) => {
    const receivers = await db
      .selectFrom('webhooks')
      .select(['id', 'events'])
      .where('workspace_id', '=', workspaceId)
      .where('is_enabled', '=', 1)
      .orderBy('id')
      .execute();
    const told = receivers.filter(({ events }) => (JSON.parse(events) as EventType[]).includes(type));
    if (told.length === 0) return;
    const at = now();
    const event: WebhookEvent = {
      id: newObjectId('event', at),
      object: 'event',
      created_at: Math.floor(at / 1_000),
      type,
      data: { id },
    };
    const payload: DeliveryPayload = { event, tries: 0 };
    for (const receiver of told)
      await workers().enqueue(db, { kind: DELIVER, tenant: workspaceId, ref: receiver.id, payload });
  };

  return {
    notify,

    /** The secret is in the answer, and in no later one. */
    async create(who: Principal, input: WebhookInput): Promise<Webhook & { secret: string }> {
      const workspaceId = await workspaceFor(store.db, who, input.workspace_id);
      refuseMaskedAddress(input.url, 'url');
      await checkAddress(input.url);
      const id = newId<string>();
      const secrets = newSecrets();
      const row: WebhookRow = {
        id,
        organisation_id: who.organisationId,
        workspace_id: workspaceId,
        name: input.name,
        url: input.url,
        events: JSON.stringify(input.events),
        is_enabled: input.is_enabled === false ? 0 : 1,
        sealed: sealSecrets(sealer, id, secrets),
        last_delivery: null,
        created_at: now(),
        updated_at: now(),
      };
      await store.transaction(async (db) => {
        await lockName(db, store, `webhooks of ${workspaceId}`);
        const { total } = await db
          .selectFrom('webhooks')
          .select(({ fn }) => fn.countAll<number>().as('total'))
          .where('workspace_id', '=', workspaceId)
          .executeTakeFirstOrThrow();
        if (Number(total) >= MOST) fail('too_many_webhooks', MOST);
        await db.insertInto('webhooks').values(sealed(row)).execute();
      }, who);
      return { ...shownWebhook(row), secret: secrets.current };
    },

    async list(who: Principal, query: PageQuery & { workspace_id?: string }): Promise<Page<Webhook>> {
      const all = visible(store.db, who);
      const matching =
        query.workspace_id === undefined
          ? all
          : all.where('workspace_id', '=', await workspaceFor(store.db, who, query.workspace_id));
      const { rows, total } = await rowsOnPage(matching, query);
      return page(
        rows.map((row) => shownWebhook(opened(row))),
        total,
        query,
      );
    },

    async read(who: Principal, id: string): Promise<Webhook> {
      return shownWebhook(await find(store.db, who, id));
    },

    async update(who: Principal, id: string, input: Partial<Omit<WebhookInput, 'workspace_id'>>): Promise<Webhook> {
      if (input.url !== undefined) await checkAddress(input.url);
      const row = await store.transaction(async (db) => {
        const current = await lock(db, who, id);
        const next: WebhookRow = {
          ...current,
          name: input.name ?? current.name,
          url: changedAddress(input.url, current.url, 'url'),
          events: input.events ? JSON.stringify(input.events) : current.events,
          is_enabled: input.is_enabled === undefined ? current.is_enabled : input.is_enabled ? 1 : 0,
          updated_at: now(),
        };
        await save(db, next);
        return next;
      }, who);
      return shownWebhook(row);
    },

    /** A new secret; messages carry signatures by both for a day. */
    async rotate(who: Principal, id: string): Promise<Webhook & { secret: string }> {
      const { row, secret } = await store.transaction(async (db) => {
        const current = await lock(db, who, id);
        const secrets = replaced(openSecrets(sealer, current), now());
        const next = { ...current, sealed: sealSecrets(sealer, current.id, secrets), updated_at: now() };
        await save(db, next);
        return { row: next, secret: secrets.current };
      }, who);
      return { ...shownWebhook(row), secret };
    },

    /** What was not delivered yet never will be. Answers the id of what is gone. */
    delete(who: Principal, id: string): Promise<string> {
      return store.transaction(async (db) => {
        const found = await find(db, who, id);
        // Before the webhook's own row: a delivery locks in this order, too.
        await workers().discard(db, { kind: DELIVER, ref: found.id });
        const gone = await db.deleteFrom('webhooks').where('id', '=', found.id).returning('id').executeTakeFirst();
        return gone?.id ?? fail('webhook_not_found', id.slice(0, 80));
      }, who);
    },
  };
}

export type Webhooks = ReturnType<typeof createWebhooks>;
