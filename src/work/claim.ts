import { type RawBuilder, sql } from 'kysely';
import type { Engine } from '../storage/migrate.ts';
import type { WorkRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import type { Now } from './time.ts';

export interface ClaimOptions {
  readonly engine: Engine;
  readonly now: Now;
  readonly node: string;
  readonly leaseMs: number;
}

export interface Share {
  readonly kind: string;
  /** At most so many. */
  readonly limit: number;
  /** The tenant that was served last: with equal claims, the one after it comes first. */
  readonly after: string;
}

/** Others may be taking the same rows at this moment; with some more to choose from, few go away empty-handed. */
const SPARE = 20;

/**
 * Takes due work for this node. Tenants take turns: the one with the fewest rows running or chosen comes next, and
 * among equals the one that follows the last served. So the first row of a small tenant never waits behind all of a
 * large one.
 */
export async function claim(db: Db, { kind, limit, after }: Share, options: ClaimOptions): Promise<WorkRow[]> {
  const { now, node, leaseMs } = options;
  const picked = options.engine === 'postgres' ? pickedByPostgres : pickedBySqlite;
  const { rows } = await sql<WorkRow>`
    update work set owner = ${node}, fence = fence + 1, attempts = attempts + 1, lease_until = ${now()} + ${leaseMs}
    where id in (${picked({ kind, limit, after }, now)})
    returning *`.execute(db);
  return rows;
}

/** From tenant to tenant by the index, without reading the rows between; and what each has running, on any node. */
const tenantsOf = (kind: string) => sql`
  tenants(tenant) as (
    select min(tenant) from work where kind = ${kind} and owner is null
    union all
    select (select min(free.tenant) from work free
            where free.kind = ${kind} and free.owner is null and free.tenant > tenants.tenant)
    from tenants where tenants.tenant is not null
  ),
  running(tenant, number) as (
    select tenant, count(*) from work where kind = ${kind} and owner is not null group by tenant
  )`;

const dueOf = (kind: string, now: Now, limit: number) => sql`
  from work due
  where due.kind = ${kind} and due.tenant = tenants.tenant and due.owner is null and due.run_at <= ${now()}
  order by due.run_at, due.id limit ${limit}`;

const turns = (after: string) =>
  sql`candidates.turn, case when candidates.tenant > ${after} then 0 else 1 end, candidates.tenant`;

/** One statement is one transaction, and SQLite gives it the file's write lock from its beginning. */
const pickedBySqlite = ({ kind, limit, after }: Share, now: Now): RawBuilder<unknown> => sql`
  with recursive ${tenantsOf(kind)},
  candidates as (
    select oldest.id, oldest.tenant,
      row_number() over (partition by oldest.tenant order by oldest.run_at, oldest.id) + coalesce(running.number, 0) as turn
    from tenants
    join work oldest on oldest.id in (select due.id ${dueOf(kind, now, limit)})
    left join running on running.tenant = oldest.tenant
  )
  select id from candidates order by ${turns(after)} limit ${limit}`;

const pickedByPostgres = ({ kind, limit, after }: Share, now: Now): RawBuilder<unknown> => sql`
  with recursive ${tenantsOf(kind)},
  candidates as (
    select oldest.id, tenants.tenant,
      row_number() over (partition by tenants.tenant order by oldest.run_at, oldest.id) + coalesce(running.number, 0) as turn
    from tenants
    cross join lateral (select due.id, due.run_at ${dueOf(kind, now, limit + SPARE)}) oldest
    left join running on running.tenant = tenants.tenant
  ),
  chosen as (
    select id, row_number() over (order by ${turns(after)}) as place from candidates order by place limit ${limit + SPARE}
  ),
  picked as (
    select free.id from chosen join work free on free.id = chosen.id
    where free.owner is null
    order by chosen.place limit ${limit}
    for update of free skip locked
  )
  select id from picked`;

export interface Due {
  readonly kind: string;
  /** When the next row of this kind is due, or was; null when none waits. */
  readonly next: number | null;
  readonly now: number;
  /** Whether a dead node has left something, of any kind. */
  readonly isLeft: boolean;
}

/** When there will be something to do, for each kind: one cheap question in place of a claim for each. */
export async function nextDue(db: Db, kinds: readonly string[], now: Now): Promise<Due[]> {
  const asked = sql.join(
    kinds.map((kind) => sql`select cast(${kind} as text) as kind`),
    sql` union all `,
  );
  const { rows } = await sql<Omit<Due, 'isLeft'> & { left_behind: number }>`
    select asked.kind, ${now()} as now,
      (select min(work.run_at) from work where work.kind = asked.kind and work.owner is null) as next,
      (select count(*) from work where owner is not null and lease_until < ${now()}) as left_behind
    from (${asked}) asked`.execute(db);
  return rows.map(({ left_behind, ...due }) => ({ ...due, isLeft: left_behind > 0 }));
}
