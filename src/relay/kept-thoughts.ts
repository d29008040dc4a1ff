import type { Principal } from '../core/principal.ts';
import { type Sealer, sha256 } from '../crypto/seal.ts';
import type { CallName, CallThoughts } from '../dialects/lost-thoughts.ts';
import type { Db, Store } from '../storage/store.ts';

const DAY_MS = 86_400_000;
/** Longer thoughts than models have; what does not fit is not kept. */
const LARGEST = 1 << 20;
/** Of one workspace. The oldest go first. */
const MOST_BYTES = 256 << 20;
const SWEPT_AT_ONCE = 100;
/** A call does not wait longer for the store: a call without its thoughts is better than none. */
const PATIENCE_MS = 2_000;

/** What providers signed, kept for clients that do not send it back. */
export interface ThoughtKeeper {
  /** To be awaited before the client can send the next turn, perhaps to another node. Never throws. */
  keep(who: Principal, thoughts: readonly CallThoughts[]): Promise<void>;
  /** By the ids of the calls. Empty where nothing was kept, or where the store does not answer. */
  find(who: Principal, calls: readonly CallName[]): Promise<ReadonlyMap<string, CallThoughts>>;
}

export interface KeptThoughtsDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly now: () => number;
  readonly mostBytes?: number;
}

/**
 * Sealed: the client did not ask for thoughts to be stored, and an operator who logs no bodies wants no texts to be
 * kept.
 */
export function createKeptThoughts({ store, sealer, now, mostBytes = MOST_BYTES }: KeptThoughtsDeps) {
  const { db } = store;

  const rowOf = (who: Principal, thoughts: CallThoughts) => {
    const id = placeOf(who, thoughts);
    const sealed = sealer.seal('thought', id, JSON.stringify(thoughts));
    return {
      id,
      workspace_id: who.workspaceId,
      sealed,
      bytes: sealed.length,
      expires_at: now() + DAY_MS,
    };
  };

  return {
    keep: (who: Principal, thoughts: readonly CallThoughts[]): Promise<void> => {
      const rows = thoughts.map((each) => rowOf(who, each)).filter(({ bytes }) => bytes <= LARGEST);
      if (rows.length === 0) return Promise.resolve();
      const kept = store.transaction(
        async (transaction) => {
          for (const row of rows)
            await transaction
              .insertInto('kept_thoughts')
              .values(row)
              .onConflict((conflict) =>
                conflict.column('id').doUpdateSet({ sealed: row.sealed, bytes: row.bytes, expires_at: row.expires_at }),
              )
              .execute();
        },
        { flush: 'later' },
      );
      return inTime(kept, undefined);
    },

    find: (who: Principal, calls: readonly CallName[]): Promise<ReadonlyMap<string, CallThoughts>> => {
      const places = calls.map((call) => placeOf(who, call));
      const reading = db
        .selectFrom('kept_thoughts')
        .select(['id', 'sealed'])
        .where('id', 'in', places)
        .where('expires_at', '>', now())
        .execute();
      const found = reading.then(
        (rows) =>
          new Map(
            rows.map(({ id, sealed }) => {
              const thoughts = JSON.parse(sealer.open('thought', id, sealed)) as CallThoughts;
              return [thoughts.id, thoughts] as const;
            }),
          ),
      );
      return inTime(found, new Map());
    },

    /** Removes what has expired and what is too much. Every node may do it at any time. */
    async sweep(signal?: AbortSignal): Promise<number> {
      let swept = 0;
      for (let gone = -1; gone !== 0 && !signal?.aborted; swept += gone) gone = await sweepExpired(db, now());
      for (const { workspace_id, bytes } of await fullWorkspaces(db, mostBytes))
        swept += await sweepOldest(db, workspace_id, Number(bytes) - mostBytes);
      return swept;
    },
  };
}

export type KeptThoughts = ReturnType<typeof createKeptThoughts>;

/** A hash: no workspace finds the thoughts of another one, and no id that a client chose reaches the table. */
const placeOf = ({ workspaceId }: Principal, { id, name }: CallName): string =>
  sha256(JSON.stringify([workspaceId, id, name]));

async function inTime<Value>(work: Promise<Value>, otherwise: Value): Promise<Value> {
  const late = Promise.withResolvers<Value>();
  const timer = setTimeout(() => late.resolve(otherwise), PATIENCE_MS);
  return Promise.race([work.catch(() => otherwise), late.promise]).finally(() => clearTimeout(timer));
}

async function sweepExpired(db: Db, now: number): Promise<number> {
  const old = db.selectFrom('kept_thoughts').select('id').where('expires_at', '<=', now).limit(SWEPT_AT_ONCE);
  return (await db.deleteFrom('kept_thoughts').where('id', 'in', old).returning('id').execute()).length;
}

const fullWorkspaces = (db: Db, mostBytes: number) =>
  db
    .selectFrom('kept_thoughts')
    .select(({ fn }) => ['workspace_id', fn.sum<number>('bytes').as('bytes')])
    .groupBy('workspace_id')
    .having(({ fn }) => fn.sum('bytes'), '>', mostBytes)
    .execute();

async function sweepOldest(db: Db, workspaceId: string, tooMuch: number): Promise<number> {
  let swept = 0;
  for (let left = tooMuch; left > 0; ) {
    const oldest = db
      .selectFrom('kept_thoughts')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .orderBy('expires_at')
      .limit(SWEPT_AT_ONCE);
    const gone = await db.deleteFrom('kept_thoughts').where('id', 'in', oldest).returning('bytes').execute();
    if (gone.length === 0) break;
    swept += gone.length;
    left -= gone.reduce((sum, { bytes }) => sum + Number(bytes), 0);
  }
  return swept;
}
