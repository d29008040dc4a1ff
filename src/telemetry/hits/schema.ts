import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../storage/migrate.ts';
import { HOUR_MS } from '../aggregates/grains.ts';

/** `analytics_guardrails`: what guardrails came to, by the hour (`counts.ts`). */
export async function createGuardrailCounts(db: AnyDb, engine: Engine) {
  const id =
    engine === 'sqlite' ? sql`integer primary key autoincrement` : sql`bigint generated always as identity primary key`;
  const name = sql`${text(engine)} not null`;
  const count = sql`${bigint(engine)} not null`;
  await sql`create table analytics_guardrails (
    id ${id}, organisation_id ${name}, workspace_id ${name}, guardrail ${name}, hour integer not null,
    judged ${count}, failed ${count}, denied ${count}, hits text not null, is_merged integer not null default 0
  )`.execute(db);
  await sql`create index analytics_guardrails_by_hour
    on analytics_guardrails (organisation_id, workspace_id, hour)`.execute(db);
  await sql`create index analytics_guardrails_fresh on analytics_guardrails (id) where is_merged = 0`.execute(db);
  // Entries from before are not counted, so hours that have any are not shown until figures are counted anew.
  const { rows } = await sql`select 1 from request_logs limit 1`.execute(db);
  const from = rows.length === 0 ? 0 : Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
  await sql`insert into analytics_state (name, value) values ('guardrails_from', ${from})`.execute(db);
}
