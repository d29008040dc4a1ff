import { sql } from 'kysely';
import { fail } from '../core/errors.ts';
import { type Bounds, type List, type ListQuery, listed, listPage } from '../core/list.ts';
import { PREFIXES } from '../core/object-ids.ts';
import type { Principal } from '../core/principal.ts';
import type { JsonObject, Turn } from '../dialects/ir.ts';
import { isObject } from '../dialects/json.ts';
import { decodeItems } from '../dialects/responses/decode-items.ts';
import { plainItems, shownItem } from '../dialects/responses/hosted-items.ts';
import { withShownTools } from '../dialects/responses/shown-tools.ts';
import { RESPONSE } from '../relay/background/background.ts';
import { withinBounds } from '../storage/keyset.ts';
import type { ResponseItemRow, ResponseRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import { inputItems, isReference, outputItems, type StoredItem } from './response-items.ts';
import { type ResponseSummary, type SummaryRow, shownSummary } from './response-summary.ts';

const DAY_MS = 86_400_000;
const KEPT_MS = 30 * DAY_MS;
const ROWS_AT_ONCE = 100;
const SWEPT_AT_ONCE = 100;
const NOTHING: ReadonlySet<string> = new Set();

export interface ResponseStoreDeps {
  readonly store: Store;
  readonly workers: () => Pick<Workers, 'discard'>;
  readonly now: () => number;
  /** Of the conversation that a response goes on from: as much as a body may have. */
  readonly mostBytes: number;
}

export interface NewResponse {
  /** As the client gets it, with its id. */
  readonly response: JsonObject & { readonly id: string };
  /** As the client sent it, references resolved. */
  readonly input: unknown;
  readonly previousId?: string;
  /** Under which its calls are in the log. */
  readonly traceId?: string;
}

/** Which responses a list has. */
export interface ResponsesWish extends ListQuery {
  /** Only those in the background that wait or are being made. */
  readonly isRunning: boolean;
  /** Only this one. */
  readonly id?: string;
}

export interface DeletedResponse {
  readonly id: string;
  readonly object: 'response';
  readonly deleted: true;
}

export type ResponseItem = JsonObject & { readonly id: string };

/**
 * Responses kept per workspace, for providers that keep none. A response has its own items only; a conversation is the
 * chain of those it goes on from. Nothing of a chain is swept before its last response has expired.
 */
export function createResponseStore({ store, workers, now, mostBytes }: ResponseStoreDeps) {
  const { db } = store;

  /** Rows that the caller may read now; a foreign one is missing. */
  const readable = (who: Principal) =>
    db.selectFrom('responses').where('responses.workspace_id', '=', who.workspaceId).where('expires_at', '>', now());

  /** Conversations and containers are in the same table. */
  const isResponse = (id: string): boolean => !id.startsWith('conv_') && !id.startsWith('cntr_');

  const find = async (who: Principal, id: string): Promise<ResponseRow> =>
    (isResponse(id) && (await readable(who).selectAll().where('id', '=', id).executeTakeFirst())) ||
    fail('response_not_found', shown(id));

  /** The items of a response and of those it goes on from, in their order. */
  async function chainItems(who: Principal, previousId: string): Promise<ResponseItem[]> {
    if (!isResponse(previousId)) fail('previous_response_not_found', shown(previousId));
    const chain = await chainOf(db, { workspaceId: who.workspaceId, id: previousId, now: now() })
      .selectFrom('chain')
      .select(['chain.previous_id', 'chain.bytes'])
      .orderBy('depth')
      .execute();
    const first = chain.at(-1) ?? fail('previous_response_not_found', shown(previousId));
    if (first.previous_id !== null) fail('previous_response_not_found', first.previous_id);
    const { body } = await find(who, previousId);
    const { status } = JSON.parse(body);
    if (isUnderWay({ status }))
      fail('invalid_request', 'previous_response_id', `names a response that is ${status}; wait until it is completed`);
    const bytes = chain.reduce((sum, each) => sum + Number(each.bytes), 0);
    if (bytes > mostBytes)
      fail(
        'invalid_request',
        'previous_response_id',
        `the conversation before it has ${bytes} bytes, more than the ${mostBytes} that can be sent`,
      );
    const items = await chainOf(db, { workspaceId: who.workspaceId, id: previousId, now: now() })
      .selectFrom('chain')
      .innerJoin('response_items', 'response_items.response_id', 'chain.id')
      .select('response_items.body')
      .orderBy('depth', 'desc')
      .orderBy('position')
      .execute();
    return items.map(itemOf);
  }

  async function insert(transaction: Db, who: Principal, made: NewResponse): Promise<void> {
    const { response, input, previousId, traceId } = made;
    const { output, ...body } = response;
    const at = now();
    const { id } = response;
    const rows = itemRows(id, inputItems(input, at), outputItems(output, at));
    const row: ResponseRow = {
      id,
      workspace_id: who.workspaceId,
      user_id: who.userId,
      previous_id: previousId ?? null,
      body: keptBody(body, traceId),
      bytes: bytesOf(rows),
      created_at: at,
      expires_at: at + KEPT_MS,
    };
    await transaction.insertInto('responses').values(row).execute();
    await insertItems(transaction, rows);
  }

  return {
    /** Keeps a response. The client is told that the response is complete only after this. */
    create: (who: Principal, made: NewResponse): Promise<void> =>
      store.transaction((transaction) => insert(transaction, who, made)),

    /** The same for one whose output comes later, in the transaction that accepts it. */
    begin: insert,

    /** What is told of it beside its output. */
    async change(transaction: Db, id: string, { output: _, ...body }: JsonObject): Promise<void> {
      const row = await transaction.selectFrom('responses').select('body').where('id', '=', id).executeTakeFirst();
      if (!row) return;
      await transaction
        .updateTable('responses')
        .set({ body: keptBody(body, traceIn(row)) })
        .where('id', '=', id)
        .execute();
    },

    /** Keeps the output of one that was begun. One that is gone stays so. */
    async end(transaction: Db, id: string, { output, ...body }: JsonObject): Promise<void> {
      const rows = transaction.selectFrom('responses').select(['bytes', 'body']).where('id', '=', id);
      const row = await rows.executeTakeFirst();
      if (!row) return;
      const { last } = await transaction
        .selectFrom('response_items')
        .select(({ fn }) => fn.max('position').as('last'))
        .where('response_id', '=', id)
        .executeTakeFirstOrThrow();
      const items = itemRows(id, [], outputItems(output, now()), last === null ? 0 : Number(last) + 1);
      await insertItems(transaction, items);
      await transaction
        .updateTable('responses')
        .set({ body: keptBody(body, traceIn(row)), bytes: Number(row.bytes) + bytesOf(items) })
        .where('id', '=', id)
        .execute();
    },

    async bodyOf(transaction: Db, id: string): Promise<JsonObject | null> {
      const row = await transaction.selectFrom('responses').select('body').where('id', '=', id).executeTakeFirst();
      return row ? shownBody(row) : null;
    },

    async has(who: Principal, id: string): Promise<boolean> {
      return isResponse(id) && (await readable(who).select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
    },

    async read(who: Principal, id: string, include: ReadonlySet<string> = NOTHING): Promise<JsonObject> {
      const response = shownBody(await find(who, id));
      const items = isUnderWay(response)
        ? await reachedBy(db, id)
        : (await sideOf(db, id, 'output').orderBy('position').execute()).map(itemOf);
      return { ...response, output: items.map((item) => shownItem(item, include)) };
    },

    /** What is told of responses in a list, the newest first: nothing that was said. */
    list(who: Principal, { isRunning, id, ...query }: ResponsesWish): Promise<List<ResponseSummary>> {
      /** Who may see every call of the workspace sees every response; others see what they made themselves. */
      const seen = () => {
        const all = readable(who);
        return who.scopes.has('logs.list') ? all : all.where('user_id', who.userId === null ? 'is' : '=', who.userId);
      };
      const between = async (bounds: Bounds): Promise<SummaryRow[]> => {
        const pages = RANGES.map(async ({ first, behind }) => {
          const rows = seen()
            .select(['id', 'user_id', 'previous_id', 'created_at', 'expires_at'])
            .select(SUMMED.map((name) => memberOf(store.engine, name).as(name)))
            .where('id', '>=', first)
            .where('id', '<', behind);
          const named = id === undefined ? rows : rows.where('id', '=', id);
          const some = isRunning
            ? named.where(({ exists, selectFrom }) =>
                exists(
                  selectFrom('response_work')
                    .select('response_id')
                    .whereRef('response_id', '=', 'responses.id')
                    .where('ended_at', 'is', null),
                ),
              )
            : named;
          const within = { ...bounds, above: inRange(first, bounds.above), below: inRange(first, bounds.below) };
          return (await withinBounds(some, within).execute()) as SummaryRow[];
        });
        const [turn, rows] = [bounds.sort === 'asc' ? 1 : -1, (await Promise.all(pages)).flat()];
        return rows.sort((one, other) => (digitsOf(one.id) < digitsOf(other.id) ? -turn : turn)).slice(0, bounds.limit);
      };
      return listPage(query, 'response', {
        has: async (id) => (await seen().select('id').where('id', '=', id).executeTakeFirst()) !== undefined,
        between: async (bounds) => (await between(bounds)).map(shownSummary),
      });
    },

    /** Those that went on from it cannot be gone on from any more: what they said depends on it. */
    async delete(who: Principal, id: string): Promise<DeletedResponse> {
      await find(who, id);
      await store.transaction(async (transaction) => {
        await workers().discard(transaction, { kind: RESPONSE, ref: id });
        await transaction
          .deleteFrom('responses')
          .where('id', '=', id)
          .where('workspace_id', '=', who.workspaceId)
          .execute();
      });
      return { id, object: 'response', deleted: true };
    },

    async inputItems(who: Principal, id: string, query: ListQuery): Promise<List<ResponseItem>> {
      await find(who, id);
      return inputPage(db, id, query);
    },

    /** What was said up to a response and in it. */
    async expand(who: Principal, previousId: string): Promise<Turn[]> {
      return decodeItems(plainItems(await chainItems(who, previousId)), 'previous_response_id');
    },

    items: chainItems,

    /** The body with stored items in the place of references to them. */
    async resolved(who: Principal, body: unknown): Promise<unknown> {
      if (!isObject(body) || !Array.isArray(body.input)) return body;
      const wanted = [...new Set(body.input.filter(isReference).map(({ id }) => id))];
      if (wanted.length === 0) return body;
      const found = new Map<string, unknown>();
      for (let from = 0; from < wanted.length; from += ROWS_AT_ONCE) {
        const rows = await readable(who)
          .innerJoin('response_items', 'response_items.response_id', 'responses.id')
          .select(['response_items.item_id', 'response_items.body'])
          .where('side', '!=', 'cell')
          .where('item_id', 'in', wanted.slice(from, from + ROWS_AT_ONCE))
          .orderBy('responses.created_at')
          .execute();
        for (const row of rows) found.set(row.item_id, itemOf(row));
      }
      const input = body.input.map((item, index) =>
        isReference(item)
          ? (found.get(item.id) ?? fail('response_item_not_found', `input[${index}]`, shown(item.id)))
          : item,
      );
      return { ...body, input };
    },

    /** Removes what has expired and nothing goes on from; answers how many. Every node may do it at any time. */
    async sweep(signal?: AbortSignal): Promise<number> {
      for (let swept = 0; ; ) {
        const gone = await sweepSome(db, now());
        swept += gone;
        // The end of a chain goes first, and then what was before it.
        if (gone === 0 || signal?.aborted) return swept;
      }
    },
  };
}

export type ResponseStore = ReturnType<typeof createResponseStore>;

/** Ids come from clients, and messages are no place for a book. */
const shown = (id: string): string => id.slice(0, 80);

/** A member of what is kept that clients are not told. */
const TRACE = 'gateway_trace_id';

/** What is kept of a response never holds what a client gave for the servers of its tools. */
const keptBody = (body: JsonObject, traceId: string | undefined): string =>
  JSON.stringify({ ...withShownTools(body), [TRACE]: traceId });

function shownBody({ body }: Pick<ResponseRow, 'body'>): JsonObject {
  const { [TRACE]: _, ...shown } = JSON.parse(body);
  return shown;
}

const traceIn = ({ body }: Pick<ResponseRow, 'body'>): string | undefined => JSON.parse(body)[TRACE];

/** Ids of both kinds have their time behind what they begin with: each kind is read by its ids, and the two are merged. */
const RANGES = [
  { first: PREFIXES.response, behind: PREFIXES.hostedResponse },
  { first: PREFIXES.hostedResponse, behind: 'resp_gx' },
] as const;

const digitsOf = (id: string): string =>
  id.slice((id.startsWith(PREFIXES.hostedResponse) ? PREFIXES.hostedResponse : PREFIXES.response).length);

/** An id as one of that kind would be that was made at the same time. */
const inRange = (first: string, id: string | undefined): string | undefined =>
  id === undefined ? undefined : `${first}${digitsOf(id)}`;

const SUMMED = ['status', 'model', 'background', 'usage', 'error', TRACE] as const;

/** One member of what is kept, as text: instructions may be as long as a book, and a list does not read them. */
const memberOf = (engine: Store['engine'], name: (typeof SUMMED)[number]) =>
  engine === 'postgres'
    ? sql<string | null>`responses.body::json ->> ${sql.lit(name)}`
    : sql<string | number | null>`json_extract(responses.body, ${sql.lit(`$.${name}`)})`;

const itemOf = ({ body }: Pick<ResponseItemRow, 'body'>): ResponseItem => JSON.parse(body);

const bytesOf = (rows: readonly ResponseItemRow[]): number =>
  rows.reduce((sum, each) => sum + Buffer.byteLength(each.body), 0);

async function insertItems(db: Db, rows: readonly ResponseItemRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
    await db
      .insertInto('response_items')
      .values(rows.slice(from, from + ROWS_AT_ONCE))
      .execute();
}

function itemRows(
  id: string,
  input: readonly StoredItem[],
  output: readonly StoredItem[],
  first = 0,
): ResponseItemRow[] {
  const sided = [...input.map((each) => ['input', each] as const), ...output.map((each) => ['output', each] as const)];
  return sided.map(([side, { id: itemId, item }], index) => ({
    response_id: id,
    position: first + index,
    side,
    item_id: itemId,
    body: JSON.stringify(item),
  }));
}

const isUnderWay = ({ status }: JsonObject): boolean => status === 'queued' || status === 'in_progress';

/** The output of a response in the background so far. */
async function reachedBy(db: Db, id: string): Promise<JsonObject[]> {
  const work = await db.selectFrom('response_work').select('state').where('response_id', '=', id).executeTakeFirst();
  const output: unknown[] = work?.state ? JSON.parse(work.state).output : [];
  return output.filter(isObject);
}

const sideOf = (db: Db, id: string, side: ResponseItemRow['side']) =>
  db.selectFrom('response_items').select(['position', 'body']).where('response_id', '=', id).where('side', '=', side);

/** A response and those it goes on from, as `chain`; the first has depth 0. Only the first has to be fresh. */
const chainOf = (db: Db, { workspaceId, id, now }: { workspaceId: string; id: string; now: number }) =>
  db.withRecursive('chain(id, previous_id, bytes, depth)', (query) =>
    query
      .selectFrom('responses')
      .select((select) => ['id', 'previous_id', 'bytes', select.lit(0).as('depth')])
      .where('id', '=', id)
      .where('workspace_id', '=', workspaceId)
      .where('expires_at', '>', now)
      .unionAll(
        query
          .selectFrom('chain')
          .innerJoin('responses', 'responses.id', 'chain.previous_id')
          .select((select) => [
            'responses.id',
            'responses.previous_id',
            'responses.bytes',
            select('chain.depth', '+', 1).as('depth'),
          ])
          .where('responses.workspace_id', '=', workspaceId),
      ),
  );

/** Items have the order of the input, not of their ids, which clients may have given. */
export async function inputPage(db: Db, id: string, query: ListQuery): Promise<List<ResponseItem>> {
  const { limit, order, after, before } = query;
  const positionOf = async (name: 'after' | 'before', itemId: string | undefined) => {
    if (itemId === undefined) return undefined;
    const row = await sideOf(db, id, 'input').where('item_id', '=', itemId).orderBy('position').executeTakeFirst();
    return row?.position ?? fail('cursor_not_found', name);
  };
  const [behind, ahead] = [await positionOf('after', after), await positionOf('before', before)];
  const [above, below] = order === 'asc' ? [behind, ahead] : [ahead, behind];
  // Before an item alone, the page is the one that ends there: it is read away from the item and turned around.
  const isBackward = ahead !== undefined && behind === undefined;
  let rows = sideOf(db, id, 'input')
    .orderBy('position', isBackward === (order === 'asc') ? 'desc' : 'asc')
    .limit(limit + 1);
  if (above !== undefined) rows = rows.where('position', '>', above);
  if (below !== undefined) rows = rows.where('position', '<', below);
  const found = await rows.execute();
  const page = found.slice(0, limit).map(itemOf);
  return listed(isBackward ? page.reverse() : page, found.length > limit);
}

async function sweepSome(db: Db, now: number): Promise<number> {
  const gone = await db
    .deleteFrom('responses')
    .where('id', 'in', (query) =>
      query
        .selectFrom('responses as old')
        .select('old.id')
        .where('old.expires_at', '<=', now)
        // Files go with a container, so it is swept by those who know of them.
        .where('old.id', 'not like', 'cntr%')
        .where(({ not, exists, selectFrom }) =>
          not(exists(selectFrom('responses as later').select('later.id').whereRef('later.previous_id', '=', 'old.id'))),
        )
        .limit(SWEPT_AT_ONCE),
    )
    .returning('id')
    .execute();
  return gone.length;
}
