import { sql } from 'kysely';
import type { AnyDb } from '../../migrate.ts';

/**
 * Everything that several nodes do to the counters, in one round trip and one transaction: settlements, then holds that
 * are due, then reservations in their order.
 *
 * settlements   [{ entry, expired, charges: [[counter, actual, ends_at]] }], each id once
 * reservations  [{ id, charges: [[counter, amount, max, ends_at]], estimate }]
 * answers       [{ refused: [index], used: [number], levels: [number] }] for the reservations
 *
 * Nothing deadlocks: a transaction locks holds by id, then rows of the ledger by id, then counters by name. Holds that
 * are due are taken only where no other transaction has locked them.
 */
export async function createLimitFunctions(db: AnyDb): Promise<void> {
  await sql
    .raw(`
create or replace function limits_apply(settlements jsonb, reservations jsonb, node_name text, hold_ms bigint) returns jsonb
language plpgsql as $$
declare
  now_ms bigint := floor(extract(epoch from clock_timestamp()) * 1000);
  -- [counter, used to add, held to add, ends_at, whether a missing counter is made]
  changes jsonb := '[]';
  part jsonb;
  written jsonb;
  late record;
  change record;
  reservation jsonb;
  misfits jsonb;
  verdicts jsonb := '[]';
begin
  with locked as (
    select id from limit_holds
    where id in (select s #>> '{entry,id}' from jsonb_array_elements(settlements) s) order by id for update
  ), ended as (
    delete from limit_holds h using locked where h.id = locked.id returning h.charges
  )
  select jsonb_agg(jsonb_build_array(c -> 0, 0, -(c ->> 1)::bigint, null, false)) into part
  from ended, jsonb_array_elements(ended.charges::jsonb) c;
  changes := changes || coalesce(part, '[]');

  with due as (
    select id from limit_holds where expires_at <= now_ms order by expires_at limit 200 for update skip locked
  ), ended as (
    delete from limit_holds h using due where h.id = due.id returning h.id, h.charges, h.estimate
  ), counted as (
    insert into usage_ledger
    select entry.* from ended, jsonb_populate_record(null::usage_ledger,
      ended.estimate::jsonb || jsonb_build_object('charges', ended.charges, 'settled', 0)) entry
    order by entry.id on conflict (id) do nothing returning id
  )
  select jsonb_agg(jsonb_build_array(c -> 0, case when counted.id is null then 0 else (c ->> 1)::bigint end,
    -(c ->> 1)::bigint, null, false)) into part
  from ended left join counted on counted.id = ended.id, jsonb_array_elements(ended.charges::jsonb) c;
  changes := changes || coalesce(part, '[]');

  with given as (
    select s -> 'charges' charges, jsonb_populate_record(null::usage_ledger, (s -> 'entry') || jsonb_build_object(
      'charges', s ->> 'charges', 'settled', case when (s ->> 'expired')::boolean then 0 else 1 end)) entry
    from jsonb_array_elements(settlements) s
  ), fresh as (
    insert into usage_ledger select (entry).* from given order by (entry).id on conflict (id) do nothing returning id
  )
  select coalesce(jsonb_agg(distinct fresh.id), '[]'), jsonb_agg(x.change) filter (where x.change is not null)
  into written, part
  from fresh join given on (given.entry).id = fresh.id left join lateral (
    select jsonb_build_array(c -> 0, (c ->> 1)::bigint, 0, c -> 2,
      coalesce((c ->> 2)::bigint > now_ms - 600000, true)) change
    from jsonb_array_elements(given.charges) c
  ) x on true;
  changes := changes || coalesce(part, '[]');

  -- Nearly always none was there before. Before the server has looked at a table that grows, it reads all of it for this.
  if jsonb_array_length(written) < jsonb_array_length(settlements) then
    -- A statement of its own, so that it sees what another node wrote while the one above waited for it.
    for late in
      select l.id, l.charges::jsonb counted, s -> 'charges' charges, s -> 'entry' entry
      from usage_ledger l join jsonb_array_elements(settlements) s on s #>> '{entry,id}' = l.id
      where l.settled = 0 and not (s ->> 'expired')::boolean and not written ? l.id order by l.id for update of l
    loop
      update usage_ledger l set at = e.at, virtual_key = e.virtual_key, provider = e.provider, model = e.model,
        input_tokens = e.input_tokens, output_tokens = e.output_tokens, cost = e.cost, state = e.state,
        charges = late.charges::text, settled = 1
      from jsonb_populate_record(null::usage_ledger, late.entry) e where l.id = late.id;
      select jsonb_agg(x.change) into part from (
        select jsonb_build_array(c -> 0, (c ->> 1)::bigint, 0, c -> 2,
          coalesce((c ->> 2)::bigint > now_ms - 600000, true)) change from jsonb_array_elements(late.charges) c
        union all
        select jsonb_build_array(c -> 0, -(c ->> 1)::bigint, 0, null, false) from jsonb_array_elements(late.counted) c
      ) x;
      changes := changes || coalesce(part, '[]');
    end loop;
  end if;

  select jsonb_agg(jsonb_build_array(c -> 0, 0, 0, c -> 3, true)) into part
  from jsonb_array_elements(reservations) r, jsonb_array_elements(r -> 'charges') c;
  changes := changes || coalesce(part, '[]');

  for change in
    select c ->> 0 as counter, sum((c ->> 1)::bigint) as used, sum((c ->> 2)::bigint) as held,
      max((c ->> 3)::bigint) as ends_at, bool_or((c ->> 4)::boolean) as makes
    from jsonb_array_elements(changes) c group by c ->> 0 order by (c ->> 0) collate "C"
  loop
    if change.used = 0 and change.held = 0 then
      perform 1 from limit_counters where counter = change.counter for update;
    else
      update limit_counters k set used = greatest(0, k.used + change.used), held = greatest(0, k.held + change.held)
      where k.counter = change.counter;
    end if;
    if not found and change.makes then
      insert into limit_counters as k (counter, used, held, ends_at)
      values (change.counter, greatest(0, change.used), 0, change.ends_at)
      on conflict (counter) do update
      set used = greatest(0, k.used + change.used), held = greatest(0, k.held + change.held);
    end if;
  end loop;

  for reservation in select r from jsonb_array_elements(reservations) with ordinality x(r, n) order by n loop
    select jsonb_agg(n - 1 order by n) into misfits
    from jsonb_array_elements(reservation -> 'charges') with ordinality x(c, n)
    join limit_counters k on k.counter = c ->> 0
    where k.used + k.held + greatest((c ->> 1)::bigint, 1) > (c ->> 2)::numeric;
    if misfits is null then
      update limit_counters k set held = k.held + (c ->> 1)::bigint
      from jsonb_array_elements(reservation -> 'charges') c where k.counter = c ->> 0;
      insert into limit_holds (id, node, charges, estimate, expires_at)
      values (reservation ->> 'id', node_name,
        (select jsonb_agg(jsonb_build_array(c -> 0, c -> 1, c -> 3)) from jsonb_array_elements(reservation -> 'charges') c)::text,
        (reservation -> 'estimate')::text, now_ms + hold_ms);
    end if;
    select verdicts || jsonb_build_array(jsonb_build_object('refused', coalesce(misfits, '[]'),
      'used', coalesce(jsonb_agg(k.used order by n), '[]'),
      'levels', coalesce(jsonb_agg(k.used + k.held order by n), '[]'))) into verdicts
    from jsonb_array_elements(reservation -> 'charges') with ordinality x(c, n)
    join limit_counters k on k.counter = c ->> 0;
  end loop;
  return verdicts;
end $$`)
    .execute(db);
}
