import * as z from 'zod';
import { isTaken } from '../core/delivery.ts';
import { fail } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { changedAddress, refuseMaskedAddress } from '../core/masked-address.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import type { Principal } from '../core/principal.ts';
import { schemaOf } from '../core/schema.ts';
import type { Sealer } from '../crypto/seal.ts';
import { newSecrets, replaced, type Secrets } from '../crypto/webhook-signature.ts';
import type { EgressPolicy } from '../http/egress.ts';
import { checked } from '../http/input.ts';
import { checkStoredAddress } from '../http/stored-address.ts';
import { lockName } from '../storage/name-lock.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { AlertChannelRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { workspaceFor } from '../storage/workspace-lookup.ts';
import type { Workers } from '../work/workers.ts';
import {
  type AddressSettings,
  type Channel,
  type ChannelKind,
  type ChannelSettings,
  isMail,
  type MailSettings,
  SETTINGS,
  type Sealed,
  type ShownChannel,
  shownChannel,
  type TestedChannel,
} from './channel.ts';
import { checkServer } from './mail.ts';
import { type OwnerInput, ownerFor, visible } from './owner.ts';
import type { Send } from './send.ts';
import { type Telling, testTelling } from './telling.ts';

/** The work of telling one channel one thing. */
export const DELIVER = 'alert.deliver';

export interface DeliveryPayload {
  readonly telling: Telling;
  /** How often it was tried. */
  readonly tries: number;
}

export interface ChannelInput extends OwnerInput {
  readonly name: string;
  readonly kind: ChannelKind;
  readonly settings: ChannelSettings;
  readonly is_enabled?: boolean;
}

export interface ChannelChange {
  readonly name?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly is_enabled?: boolean;
}

export interface ChannelsDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly egress: EgressPolicy;
  readonly workers: () => Workers;
  readonly send: Send;
  readonly now: () => number;
}

const MOST = 50;
const TEST_MS = 30_000;

/** Rules and channels of an organisation are changed one after the other, so that no rule names a channel that is gone. */
export const lockAlerts = (db: Db, store: Store, organisationId: string): Promise<void> =>
  lockName(db, store, `alerts of ${organisationId}`);

export const createChannelSealer = (sealer: Sealer) => ({
  open: ({ sealed, ...row }: AlertChannelRow): Channel => ({
    ...row,
    ...(JSON.parse(sealer.open('alert-channel', row.id, sealed)) as Sealed),
  }),
  close: ({ settings, secrets, ...row }: Channel): AlertChannelRow => ({
    ...row,
    sealed: sealer.seal('alert-channel', row.id, JSON.stringify({ settings, secrets } satisfies Sealed)),
  }),
});

const whole = Object.fromEntries(
  Object.entries(SETTINGS).map(([kind, settings]) => [kind, () => z.strictObject({ settings: settings() })]),
) as unknown as Readonly<Record<ChannelKind, () => z.ZodType<{ settings: ChannelSettings }>>>;

export function createChannels({ store, sealer, egress, workers, send, now }: ChannelsDeps) {
  const { open, close } = createChannelSealer(sealer);

  const checkPlace = (settings: ChannelSettings) =>
    isMail(settings) ? checkServer(egress, settings) : checkStoredAddress(egress, settings.url, 'settings.url');

  const find = async (db: Db, who: Principal, id: string): Promise<Channel> => {
    const row = await visible(db, 'alert_channels', who).selectAll().where('id', '=', id).executeTakeFirst();
    return row ? open(row) : fail('alert_channel_not_found', id.slice(0, 80));
  };
  /** For a change: two of them follow each other, so that none writes back what the other has replaced. */
  const lock = async (db: Db, who: Principal, id: string): Promise<Channel> => {
    const query = visible(db, 'alert_channels', who).selectAll().where('id', '=', id);
    const row = await (store.engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
    return row ? open(row) : fail('alert_channel_not_found', id.slice(0, 80));
  };
  const save = (db: Db, channel: Channel) =>
    db
      .updateTable('alert_channels')
      // How the last delivery went is not the administrator's to write, and may change meanwhile.
      .set({ ...close(channel), last_delivery: undefined })
      .where('id', '=', channel.id)
      .execute();

  const tryOut = async (channel: Channel, told: Telling): Promise<TestedChannel> => {
    const outcome = await send(channel, told, AbortSignal.timeout(TEST_MS)).catch((error: unknown) => {
      if ((error as Error).name !== 'TimeoutError') throw error;
      return { status: null, error: `no answer within ${TEST_MS / 1_000} seconds` };
    });
    return {
      id: newId(),
      object: 'alert_channel.test',
      channel: { id: channel.id, name: channel.name },
      delivered: isTaken(outcome),
      response_status: outcome.status,
      error: outcome.error ?? (isTaken(outcome) ? null : 'the receiver did not take it'),
    };
  };

  return {
    /** The secret of a webhook is in the answer, and in no later one. */
    async create(who: Principal, input: ChannelInput): Promise<ShownChannel & { secret?: string }> {
      const workspaceId = await ownerFor(store.db, who, input);
      if (!isMail(input.settings)) refuseMaskedAddress(input.settings.url, 'settings.url');
      await checkPlace(input.settings);
      const secrets: Secrets | undefined = input.kind === 'webhook' ? newSecrets() : undefined;
      const channel: Channel = {
        id: newId(),
        organisation_id: who.organisationId,
        workspace_id: workspaceId,
        name: input.name,
        kind: input.kind,
        is_enabled: input.is_enabled === false ? 0 : 1,
        settings: input.settings,
        secrets,
        last_delivery: null,
        created_at: now(),
        updated_at: now(),
      };
      await store.transaction(async (db) => {
        await lockAlerts(db, store, who.organisationId);
        const { total } = await db
          .selectFrom('alert_channels')
          .select(({ fn }) => fn.countAll<number>().as('total'))
          .where('organisation_id', '=', who.organisationId)
          .where('workspace_id', workspaceId === null ? 'is' : '=', workspaceId)
          .executeTakeFirstOrThrow();
        if (Number(total) >= MOST) fail('too_many_alerts', 'alert channels', MOST);
        await db.insertInto('alert_channels').values(close(channel)).execute();
      }, who);
      return { ...shownChannel(channel), ...(secrets && { secret: secrets.current }) };
    },

    async list(who: Principal, query: PageQuery & { workspace_id?: string }): Promise<Page<ShownChannel>> {
      const all = visible(store.db, 'alert_channels', who);
      const matching =
        query.workspace_id === undefined
          ? all
          : all.where('workspace_id', '=', await workspaceFor(store.db, who, query.workspace_id));
      const { rows, total } = await rowsOnPage(matching, query);
      return page(
        rows.map((row) => shownChannel(open(row))),
        total,
        query,
      );
    },

    async read(who: Principal, id: string): Promise<ShownChannel> {
      return shownChannel(await find(store.db, who, id));
    },

    async update(who: Principal, id: string, input: ChannelChange): Promise<ShownChannel> {
      const before = await find(store.db, who, id);
      // Outside of the transaction, in which no name may be looked up.
      if (input.settings) await checkPlace(changed(before, input.settings));
      const channel = await store.transaction(async (db) => {
        const current = await lock(db, who, id);
        const next: Channel = {
          ...current,
          name: input.name ?? current.name,
          settings: input.settings ? changed(current, input.settings) : current.settings,
          is_enabled: input.is_enabled === undefined ? current.is_enabled : input.is_enabled ? 1 : 0,
          updated_at: now(),
        };
        await save(db, next);
        return next;
      }, who);
      return shownChannel(channel);
    },

    /** A new secret; messages carry signatures by both for a day. */
    async rotate(who: Principal, id: string): Promise<ShownChannel & { secret: string }> {
      const { channel, secret } = await store.transaction(async (db) => {
        const current = await lock(db, who, id);
        if (!current.secrets)
          fail('invalid_request', 'id', `is a channel of the kind ${current.kind}, which has no secret`);
        const secrets = replaced(current.secrets, now());
        const next = { ...current, secrets, updated_at: now() };
        await save(db, next);
        return { channel: next, secret: secrets.current };
      }, who);
      return { ...shownChannel(channel), secret };
    },

    /** What was not delivered yet never will be. Answers the id of what is gone. */
    delete(who: Principal, id: string): Promise<string> {
      return store.transaction(async (db) => {
        await lockAlerts(db, store, who.organisationId);
        const found = await find(db, who, id);
        const rules = await rulesTelling(db, found);
        if (rules.length > 0) fail('alert_channel_in_use', found.name, rules.slice(0, 5).join(', '));
        // Before the channel's own row: a delivery locks in this order, too.
        await workers().discard(db, { kind: DELIVER, ref: found.id });
        const gone = await db
          .deleteFrom('alert_channels')
          .where('id', '=', found.id)
          .returning('id')
          .executeTakeFirst();
        return gone?.id ?? fail('alert_channel_not_found', id.slice(0, 80));
      }, who);
    },

    /** Tells the channel something that is marked as a test, also while it is switched off. */
    async test(who: Principal, id: string): Promise<TestedChannel> {
      const channel = await find(store.db, who, id);
      const alert = { id: channel.id, name: channel.name, condition: 'test' };
      const summary = 'This is a test of an alert channel. Nothing is wrong.';
      return tryOut(channel, testTelling(alert, channel.workspace_id, summary, now()));
    },

    tryOut,
  };
}

export type Channels = ReturnType<typeof createChannels>;

/** The names of the rules that tell a channel. */
async function rulesTelling(db: Db, { id, organisation_id }: Channel): Promise<string[]> {
  const rules = await db
    .selectFrom('alert_rules')
    .select(['name', 'channels'])
    .where('organisation_id', '=', organisation_id)
    .where('channels', 'like', `%${id}%`)
    .execute();
  return rules.map(({ name }) => `"${name}"`);
}

/** The settings after a change: what it does not name stays. */
function changed({ kind, settings }: Channel, given: Readonly<Record<string, unknown>>): ChannelSettings {
  const merged = { settings: { ...settings, ...given } };
  const next = checked(schemaOf(whole[kind]), merged, 'body').settings;
  if (isMail(next)) return withItsPassword(next, settings as MailSettings, given);
  return { url: changedAddress(next.url, (settings as AddressSettings).url, 'settings.url') };
}

const PLACE = ['host', 'port', 'security'] as const;

/** A stored password goes only to the server that was stored with it. */
function withItsPassword(next: MailSettings, stored: MailSettings, given: object): MailSettings {
  const isElsewhere = PLACE.some((member) => next[member] !== stored[member]);
  if (next.password && isElsewhere && !('password' in given))
    fail('invalid_request', 'settings.password', 'give it again: the stored one was given for another server');
  return next;
}
