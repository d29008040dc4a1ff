import { CompiledQuery, sql } from 'kysely';
import { insertText } from '../../storage/insert-text.ts';
import type { Db, Store } from '../../storage/store.ts';
import { ENTRY_COLUMNS, type Posted, type Posting } from '../counters/posting.ts';

/** What a posting added to counters. Empty when its id had been counted before. */
export type Folded = readonly Posted[];

/** Writes rows to the ledger and adds their charges to the counters, in one transaction, once per id. */
export type Fold = (postings: readonly Posting[]) => Promise<readonly Folded[]>;

export const foldOf = (store: Store, now: () => number): Fold =>
  store.engine === 'postgres' ? foldIntoPostgres(store) : foldIntoSqlite(store, now);

/** The function in the database does all of it and tells nothing: no node keeps counters of its own beside it. */
const foldIntoPostgres =
  (store: Store): Fold =>
  async (postings) => {
    await sql`select limits_apply(${settlementsOf(postings)}::jsonb, '[]', '', 0)`.execute(store.db);
    return [];
  };

/** The first settlement of an id counts, and any settlement rather than the end of its hold. */
export function settlementsOf(postings: readonly Posting[]): string {
  const byId = new Map<string, Posting>();
  for (const posting of postings) {
    const known = byId.get(posting.entry.id);
    if (!known || (known.expired && !posting.expired)) byId.set(posting.entry.id, posting);
  }
  return JSON.stringify([...byId.values()]);
}

/** For nearly every group nothing is there yet, so it is not looked for: the insert itself tells. */
const foldIntoSqlite =
  (store: Store, now: () => number): Fold =>
  async (postings) => {
    try {
      return await withoutSync(store, (db) => foldNew(db, postings, now()));
    } catch (error) {
      if (!(error instanceof SomeKnown)) throw error;
      return withoutSync(store, (db) => foldAny(db, postings, now()));
    }
  };

/** Ends the transaction that found a row of its group in the ledger, or one id twice in the group. */
class SomeKnown extends Error {}

async function foldNew(db: Db, postings: readonly Posting[], now: number): Promise<readonly Folded[]> {
  if ((await insertRows(db, postings, IGNORE)) < postings.length) throw new SomeKnown();
  const sums: Sums = new Map();
  for (const { charges } of postings) addTo(sums, charges);
  await addOpen(db, sums, now);
  return postings.map(({ charges }) => charges);
}

async function foldAny(db: Db, postings: readonly Posting[], now: number): Promise<readonly Folded[]> {
  const known = await knownRows(db, postings);
  const rows = new Map<string, Posting>();
  const folded: Folded[] = [];
  const sums: Sums = new Map();
  for (const posting of postings) {
    const { id } = posting.entry;
    const before = known.get(id);
    if (before && (before.isSettled || posting.expired)) {
      folded.push([]);
      continue;
    }
    const changes = [...posting.charges, ...(before?.charges ?? []).map(negative)];
    addTo(sums, changes);
    known.set(id, { isSettled: !posting.expired, charges: posting.charges });
    rows.set(id, posting);
    folded.push(changes);
  }
  if (rows.size > 0) await insertRows(db, [...rows.values()], REPLACE);
  await addOpen(db, sums, now);
  return folded;
}

type Sums = Map<string, { amount: number; endsAt: number | null }>;

function addTo(sums: Sums, changes: readonly Posted[]) {
  for (const [counter, amount, endsAt] of changes) {
    const sum = sums.get(counter);
    if (sum) sum.amount += amount;
    else sums.set(counter, { amount, endsAt });
  }
}

/** A window that has ended is not asked for any more; writing it only to delete it again would be most of the work. */
async function addOpen(db: Db, sums: Sums, now: number) {
  const open = [...sums].filter(([, { endsAt }]) => endsAt === null || endsAt > now);
  if (open.length > 0) await addToCounters(db, open);
}

const negative = ([counter, amount, endsAt]: Posted): Posted => [counter, -amount, endsAt];

/** Parameters go in beside a text that Kysely does not have to put together again for every group. */
const raw = <Row>(db: Db, text: string, parameters: readonly unknown[] = []) =>
  db.executeQuery({ ...RAW, sql: text, parameters } as CompiledQuery<Row>);
const RAW = CompiledQuery.raw('');

const KNOWN = 'select id, settled, charges from usage_ledger where id in (select value from json_each(?))';

async function knownRows(db: Db, postings: readonly Posting[]) {
  const ids = JSON.stringify(postings.map(({ entry }) => entry.id));
  const { rows } = await raw<{ id: string; settled: number; charges: string }>(db, KNOWN, [ids]);
  return new Map(
    rows.map(({ id, settled, charges }) => [
      id,
      { isSettled: settled === 1, charges: JSON.parse(charges) as readonly Posted[] },
    ]),
  );
}

interface Cell {
  readonly column: string;
  readonly of: (posting: Posting) => unknown;
}

const CELLS: readonly Cell[] = [
  ...ENTRY_COLUMNS.map((column): Cell => ({ column, of: ({ entry }) => entry[column] })),
  // Only the end of a hold is ever corrected, so what a settled call was charged to is not needed.
  { column: 'charges', of: ({ expired, charges }) => (expired ? JSON.stringify(charges) : '[]') },
  { column: 'settled', of: ({ expired }) => (expired ? 0 : 1) },
];

const IGNORE = ' on conflict (id) do nothing';
const REPLACE = ` on conflict (id) do update set ${CELLS.slice(1)
  .map(({ column }) => `${column} = excluded.${column}`)
  .join(', ')}`;

/**
 * Answers how many were written. Plain values: a quarter of the time that one JSON parameter takes, and Kysely would
 * freeze hundreds of them, one by one. Most columns are the same in all rows of a moment; they are given once, which
 * saves a third.
 */
async function insertRows(db: Db, postings: readonly Posting[], otherwise: string): Promise<number> {
  const common: Cell[] = [];
  const own: Cell[] = [];
  for (const cell of CELLS) (isCommon(postings, cell) ? common : own).push(cell);
  const values = common.map(({ of }) => of(postings[0]!));
  for (const posting of postings) for (const { of } of own) values.push(of(posting));
  const text = insertText('usage_ledger', common.map(columnOf), own.map(columnOf), postings.length);
  const { numAffectedRows } = await raw(db, text + otherwise, values);
  return Number(numAffectedRows);
}

const columnOf = ({ column }: Cell): string => column;

function isCommon(postings: readonly Posting[], { of }: Cell): boolean {
  const first = of(postings[0]!);
  for (const posting of postings) if (of(posting) !== first) return false;
  return true;
}

const ADD = `
  insert into limit_counters (counter, used, held, ends_at)
  select value ->> 0, value ->> 1, 0, value ->> 2 from json_each(?) where true
  on conflict (counter) do update set used = max(0, used + excluded.used)`;

async function addToCounters(db: Db, sums: readonly [string, { amount: number; endsAt: number | null }][]) {
  const values = JSON.stringify(sums.map(([counter, { amount, endsAt }]) => [counter, amount, endsAt]));
  await raw(db, ADD, [values]);
  // A correction of something that a reset had forgotten.
  if (sums.some(([, { amount }]) => amount < 0)) await raw(db, 'update limit_counters set used = 0 where used < 0');
}

/**
 * One transaction that does not wait for the disk. The journal holds its rows, too, and gives the same promise: a killed
 * process loses nothing, a power cut may lose the last moments. The event loop would wait for each sync.
 */
const withoutSync = <Result>(store: Store, work: (db: Db) => Promise<Result>): Promise<Result> =>
  store.db.connection().execute(async (connection) => {
    await raw(connection, 'pragma synchronous = normal');
    try {
      return await connection.transaction().execute(work);
    } finally {
      await raw(connection, 'pragma synchronous = full');
    }
  });

/** Deletes counters whose windows ended an hour ago, by which time no clock and no late call asks for them. */
export async function pruneCounters(store: Store, now: number): Promise<void> {
  await (store.engine === 'postgres'
    ? sql`delete from limit_counters where counter in (
        select counter from limit_counters where ends_at < extract(epoch from statement_timestamp()) * 1000 - 3600000
        limit 5000 for update skip locked)`
    : sql`delete from limit_counters where ends_at < ${now - 3_600_000}`
  ).execute(store.db);
}
