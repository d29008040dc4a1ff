import { sql } from 'kysely';
import type { AnyDb, Engine } from '../../migrate.ts';

/**
 * Nodes that make holds take it shared; the node that moves the counters takes it alone. Any number not used elsewhere.
 */
const MOVING_LOCK = 7_241_905_114;

/**
 * Where several nodes count at the moment, so that all of them agree. A single process on the embedded store has no
 * other node to agree with. Two rules are kept by the database itself, because a node may be late or half dead:
 *
 * limits_hold    no hold is made in PostgreSQL while it is not the place that counts
 * limits_answer  a node writes down what it knows of calls that still run, and that it has left the former place; it
 *                learns how many of them were not recorded before, and which mode saw them. Rows are locked in the
 *                order of `limits_apply`.
 */
export async function createLimitsMode(db: AnyDb, engine: Engine): Promise<void> {
  if (engine !== 'postgres') return;
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  `create table limits_mode (
    id integer primary key check (id = 1),
    tag text not null,
    mode text not null,
    epoch bigint not null,
    space text,
    run_id text,
    opened_at bigint not null,
    penalty_ms bigint not null,
    not_before bigint not null
  )`,
  `insert into limits_mode values (1, substr(md5(gen_random_uuid()::text), 1, 12), 'postgres', 1, null, null, 0, 0, 0)`,
  `create table limits_nodes (
    node text collate "C" primary key,
    epoch bigint not null,
    seen_at bigint not null,
    redis_run text,
    redis_since bigint
  )`,
  `create function limits_move_lock() returns void language sql volatile as
    'select pg_advisory_xact_lock(${MOVING_LOCK})'`,
  `create function limits_now() returns bigint language sql volatile as
    'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint'`,
  `create function limits_hold() returns trigger language plpgsql as $$
  begin
    if current_setting('gateway.limits_answer', true) = 'yes' then return null; end if;
    perform pg_advisory_xact_lock_shared(${MOVING_LOCK});
    if not exists (select 1 from limits_mode where mode = 'postgres') then
      raise exception 'limits are not counted in PostgreSQL at the moment' using errcode = 'GW001';
    end if;
    return null;
  end $$`,
  'create trigger limits_hold before insert on limit_holds for each statement execute function limits_hold()',
  `create function limits_answer(holds jsonb, node_name text, answered bigint) returns jsonb
  language plpgsql as $$
  declare
    fresh jsonb;
    change record;
  begin
    perform pg_advisory_xact_lock_shared(${MOVING_LOCK});
    perform set_config('gateway.limits_answer', 'yes', true);
    with written as (
      insert into limit_holds as k (id, node, charges, estimate, expires_at)
      select h ->> 'id', node_name,
        (select coalesce(jsonb_agg(jsonb_build_array(c -> 0, c -> 1)), '[]') from jsonb_array_elements(h -> 'charges') c)::text,
        (h -> 'estimate')::text, limits_now() + (h ->> 'left')::bigint
      from jsonb_array_elements(holds) h
      where not exists (select 1 from usage_ledger l where l.id = h ->> 'id')
      order by (h ->> 'id') collate "C"
      on conflict (id) do update set expires_at = greatest(k.expires_at, excluded.expires_at)
      returning id, xmax = 0 as is_new
    )
    select coalesce(jsonb_agg(id) filter (where is_new), '[]') into fresh from written;
    for change in
      select c ->> 0 as counter, sum((c ->> 1)::bigint) as held, max((c ->> 2)::bigint) as ends_at
      from jsonb_array_elements(holds) h, jsonb_array_elements(h -> 'charges') c
      where fresh ? (h ->> 'id') group by c ->> 0 order by (c ->> 0) collate "C"
    loop
      insert into limit_counters as k (counter, used, held, ends_at)
      values (change.counter, 0, change.held, change.ends_at)
      on conflict (counter) do update set held = k.held + excluded.held;
    end loop;
    insert into limits_nodes as n (node, epoch, seen_at) values (node_name, answered, limits_now())
    on conflict (node) do update set epoch = answered, seen_at = excluded.seen_at;
    perform set_config('gateway.limits_answer', '', true);
    return jsonb_build_object('fresh', jsonb_array_length(fresh), 'mode', (select mode from limits_mode));
  end $$`,
];
