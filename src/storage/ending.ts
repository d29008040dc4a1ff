import { sql } from 'kysely';
import type { WorkspaceId } from '../core/ids.ts';
import type { Engine } from './migrate.ts';
import type { Schema } from './schema.ts';
import type { Db } from './store.ts';

/** What one step of an ending works with. A step is short: others get their turn between two. */
export interface EndingStep {
  /** For reading. */
  readonly db: Db;
  /** About so many rows. */
  readonly atMost: number;
  /** Aborted when the node stops or has lost the work. */
  readonly signal: AbortSignal;
  /** One transaction that removes rows and writes down how many it were, which it answers. Another node's step fails in it. */
  transaction(remove: (db: Db) => Promise<number>): Promise<number>;
  /** Writes down rows that were removed elsewhere than in the state database. */
  removedElsewhere(rows: number): Promise<number>;
}

/**
 * What becomes of some tables when their owner ends. Exactly one of the last three members says how.
 *
 *     { area: 'feedback', tables: ['feedbacks'], remove: (id, step) => step.transaction((db) => removeSome(db, id)) }
 */
export interface Ending<Owner> {
  /** The name under which the rows are counted and shown. */
  readonly area: string;
  /** Every table that it answers for, also those whose rows hang on others. */
  readonly tables: readonly string[];
  /** In the transaction that ends the owner: what must not be of use a moment longer. Only for tables that stay small. */
  readonly atOnce?: (db: Db, owner: Owner) => Promise<number>;
  /** Afterwards, as leased work: removes some rows and answers how many. It is called until it answers 0. */
  readonly remove?: (owner: Owner, step: EndingStep) => Promise<number>;
  /** Why the rows stay. */
  readonly kept?: string;
}

/** A user who is to be forgotten. */
export interface Person {
  readonly id: string;
  readonly organisationId: string;
  /** What applications may have called this person in the metadata `_user`: the id, and the email address. */
  readonly names: readonly string[];
}

/** What an area says about the ends of those who own its rows. */
export interface Endings {
  readonly endsWithWorkspace: readonly Ending<WorkspaceId>[];
  readonly endsWithUser: readonly Ending<Person>[];
  /** Tables of the installation or the organisation: their rows end with neither. */
  readonly ofInstallation?: readonly string[];
}

/** Whose rows are meant. */
export interface Owned {
  readonly column: 'workspace_id' | 'user_id';
  readonly value: string;
}

export const ofWorkspace = (id: WorkspaceId): Owned => ({ column: 'workspace_id', value: id });
export const ofPerson = ({ id }: Person): Owned => ({ column: 'user_id', value: id });

/** A table with owners, and the tables whose rows hang on its rows by their `id`. */
export interface OwnedTable {
  readonly table: keyof Schema;
  readonly children?: readonly { readonly table: keyof Schema; readonly column: string }[];
}

/**
 * Removes some rows of one owner: first those that hang on them, so that however much hangs on one row, no transaction is
 * long. Answers how many; 0: none is left.
 */
export async function removeRows(
  db: Db,
  engine: Engine,
  { table, children = [], owned, atMost }: OwnedTable & { readonly owned: Owned; readonly atMost: number },
): Promise<number> {
  const parents = sql`${sql.table(table)} as parent where parent.${sql.ref(owned.column)} = ${owned.value}`;
  for (const child of children) {
    const some = sql`select child.${place(engine)} from ${sql.table(child.table)} as child
      where child.${sql.ref(child.column)} in (select parent.id from ${parents}) limit ${atMost}`;
    const gone = await removeAt(db, engine, child.table, some);
    if (gone > 0) return gone;
  }
  return removeAt(db, engine, table, sql`select parent.${place(engine)} from ${parents} limit ${atMost}`);
}

/** Where a row lies: every table has it, whatever its key. */
const place = (engine: Engine) => sql.raw(engine === 'postgres' ? 'ctid' : 'rowid');

async function removeAt(db: Db, engine: Engine, table: string, places: ReturnType<typeof sql>): Promise<number> {
  // As an array, PostgreSQL goes straight to the rows; as a subquery it would read the whole table.
  const isThere = engine === 'postgres' ? sql`ctid = any(array(${places}))` : sql`rowid in (${places})`;
  const { rows } = await sql`delete from ${sql.table(table)} where ${isThere} returning 1 as gone`.execute(db);
  return rows.length;
}
