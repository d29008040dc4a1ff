import { fail, GatewayError } from '../core/errors.ts';
import type { List, ListQuery } from '../core/list.ts';
import { listed } from '../core/list.ts';
import type { Metadata } from '../core/metadata-rule.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { Principal } from '../core/principal.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { decodeItems } from '../dialects/responses/decode-items.ts';
import { plainItems, shownItem } from '../dialects/responses/hosted-items.ts';
import type { ResponseItemRow, ResponseRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { inputItems, outputItems, type StoredItem } from './response-items.ts';
import { inputPage, type ResponseItem } from './responses-store.ts';

export interface ConversationStoreDeps {
  readonly store: Store;
  readonly now: () => number;
  /** Of what a response goes on from: as much as a body may have. */
  readonly mostBytes: number;
}

export interface Conversation {
  readonly id: string;
  readonly object: 'conversation';
  readonly created_at: number;
  readonly metadata: Metadata;
}

const ROWS_AT_ONCE = 100;
/** They stay until a client deletes them. */
const NEVER = Date.UTC(9999, 11, 31);

/**
 * Conversations, per workspace. One is kept like a response that has only items: the same tables, by an id of its own kind, so
 * that whatever holds for one holds for the other.
 */
export function createConversationStore({ store, now, mostBytes }: ConversationStoreDeps) {
  const find = async (db: Db, who: { readonly workspaceId: string }, id: string): Promise<ResponseRow> => {
    const row = id.startsWith('conv_')
      ? await db
          .selectFrom('responses')
          .selectAll()
          .where('id', '=', id)
          .where('workspace_id', '=', who.workspaceId)
          .executeTakeFirst()
      : undefined;
    return row ?? fail('object_not_found', 'conversation', id.slice(0, 80));
  };

  /** Until the transaction ends, no other one adds to it. */
  const locked = async (db: Db, who: { readonly workspaceId: string }, id: string): Promise<ResponseRow> => {
    if (store.engine === 'postgres')
      await db.selectFrom('responses').select('id').where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
    return find(db, who, id);
  };

  const append = async (db: Db, { id, bytes }: ResponseRow, items: readonly StoredItem[]): Promise<void> => {
    const last = await db
      .selectFrom('response_items')
      .select((select) => select.fn.max('position').as('position'))
      .where('response_id', '=', id)
      .executeTakeFirst();
    const first = last?.position === null || last?.position === undefined ? 0 : Number(last.position) + 1;
    const rows = items.map(
      ({ id: item_id, item }, index): ResponseItemRow => ({
        ...{ response_id: id, position: first + index, side: 'input', item_id },
        body: JSON.stringify(item),
      }),
    );
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
      await db
        .insertInto('response_items')
        .values(rows.slice(from, from + ROWS_AT_ONCE))
        .execute();
    const more = rows.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
    await db
      .updateTable('responses')
      .set({ bytes: Number(bytes) + more })
      .where('id', '=', id)
      .execute();
  };

  const itemOf = async (db: Db, id: string, itemId: string) =>
    (await db
      .selectFrom('response_items')
      .selectAll()
      .where('response_id', '=', id)
      .where('item_id', '=', itemId)
      .orderBy('position')
      .executeTakeFirst()) ?? fail('object_not_found', 'conversation item', itemId.slice(0, 80));

  return {
    async create(who: Principal, items: readonly JsonObject[], metadata: Metadata): Promise<Conversation> {
      const at = now();
      const row: ResponseRow = {
        ...{ id: newObjectId('conversation', at), workspace_id: who.workspaceId, user_id: who.userId },
        ...{ previous_id: null, body: JSON.stringify({ metadata }), bytes: 0, created_at: at, expires_at: NEVER },
      };
      const given = keptItems(items, at);
      await store.transaction(async (db) => {
        await db.insertInto('responses').values(row).execute();
        await append(db, row, given);
      });
      return shown(row);
    },

    read: async (who: Principal, id: string): Promise<Conversation> => shown(await find(store.db, who, id)),

    async update(who: Principal, id: string, metadata: Metadata): Promise<Conversation> {
      return store.transaction(async (db) => {
        const row = { ...(await locked(db, who, id)), body: JSON.stringify({ metadata }) };
        await db.updateTable('responses').set({ body: row.body }).where('id', '=', id).execute();
        return shown(row);
      });
    },

    /** Responses that were made in it stay. */
    async delete(who: Principal, id: string) {
      await find(store.db, who, id);
      await store.db.deleteFrom('responses').where('id', '=', id).where('workspace_id', '=', who.workspaceId).execute();
      return { id, object: 'conversation.deleted' as const, deleted: true as const };
    },

    async add(who: Principal, id: string, items: readonly JsonObject[]): Promise<List<ResponseItem>> {
      const given = keptItems(items, now());
      await store.transaction(async (db) => append(db, await locked(db, who, id), given));
      return listed(
        given.map(({ item, id: itemId }) => ({ ...item, id: itemId })),
        false,
      );
    },

    async list(
      who: Principal,
      id: string,
      query: ListQuery,
      include: ReadonlySet<string>,
    ): Promise<List<ResponseItem>> {
      await find(store.db, who, id);
      const page = await inputPage(store.db, id, query);
      return { ...page, data: page.data.map((item) => shownItem(item, include) as ResponseItem) };
    },

    async item(who: Principal, id: string, itemId: string, include: ReadonlySet<string>): Promise<JsonObject> {
      await find(store.db, who, id);
      return shownItem(JSON.parse((await itemOf(store.db, id, itemId)).body), include);
    },

    async removeItem(who: Principal, id: string, itemId: string): Promise<Conversation> {
      return store.transaction(async (db) => {
        const row = await locked(db, who, id);
        const { position, body } = await itemOf(db, id, itemId);
        await db.deleteFrom('response_items').where('response_id', '=', id).where('position', '=', position).execute();
        const bytes = Number(row.bytes) - Buffer.byteLength(body);
        await db.updateTable('responses').set({ bytes }).where('id', '=', id).execute();
        return shown(row);
      });
    },

    /** All that was said in it. */
    async items(who: Principal, id: string): Promise<readonly JsonObject[]> {
      const { bytes } = await find(store.db, who, id);
      if (Number(bytes) > mostBytes)
        fail('invalid_request', 'conversation', `has ${bytes} bytes, more than the ${mostBytes} that can be sent`);
      const rows = await store.db
        .selectFrom('response_items')
        .select('body')
        .where('response_id', '=', id)
        .orderBy('position')
        .execute();
      return rows.map(({ body }) => JSON.parse(body));
    },

    /** What a response has said in it: input and output. */
    async said(who: Principal, id: string, { input, output }: { input: unknown; output: unknown }): Promise<void> {
      const items = [...inputItems(input, now()), ...outputItems(output, now())];
      await store.transaction(async (db) => append(db, await locked(db, who, id), items));
    },

    /** The same in a transaction. One that was deleted meanwhile takes nothing. */
    async saidIn(db: Db, workspaceId: string, id: string, { input, output }: { input: unknown; output: unknown }) {
      const items = [...inputItems(input, now()), ...outputItems(output, now())];
      try {
        await append(db, await locked(db, { workspaceId }, id), items);
      } catch (error) {
        if (!(error instanceof GatewayError) || error.code !== 'object_not_found') throw error;
      }
    },
  };
}

export type ConversationStore = ReturnType<typeof createConversationStore>;

/** Items as they are kept, if they are such. */
function keptItems(items: readonly JsonObject[], at: number): StoredItem[] {
  decodeItems(plainItems(items), 'items');
  return inputItems(items, at);
}

const shown = ({ id, body, created_at }: ResponseRow): Conversation => ({
  id,
  object: 'conversation',
  created_at: Math.floor(Number(created_at) / 1_000),
  metadata: JSON.parse(body).metadata,
});
