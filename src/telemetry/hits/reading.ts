import { type Kysely, sql } from 'kysely';
import { HOUR_MS } from '../aggregates/grains.ts';
import type { TimeRange } from '../analytics/time-range.ts';
import type { LogTables } from '../log-columns.ts';
import type { LogReach } from '../log-query.ts';
import { type GuardrailCount, hitsIn, MOST_HITS, newestOf } from './counts.ts';

/** How often guardrails looked, and how often they objected. */
export interface GuardrailFigures {
  readonly guardrail: string;
  readonly requests: number;
  readonly passed: number;
  readonly failed: number;
  readonly denied: number;
}

/** Guardrails that operators have named; more than these are not shown. */
const MOST_GUARDRAILS = 1_000;

const within = ({ organisationId, workspaceId }: LogReach) =>
  workspaceId === null
    ? sql<boolean>`organisation_id = ${organisationId}`
    : sql<boolean>`organisation_id = ${organisationId} and workspace_id = ${workspaceId}`;

export interface CountedGuardrails {
  readonly object: 'list';
  /** Since when they are counted; null: always. */
  readonly counted_from: string | null;
  readonly data: readonly GuardrailFigures[];
}

/** By the hours that the time touches. */
export async function countGuardrails(
  db: Kysely<LogTables>,
  reach: LogReach,
  { from: asked, until }: TimeRange,
): Promise<CountedGuardrails> {
  const state = await sql<{ value: number }>`
    select value from analytics_state where name = 'guardrails_from'`.execute(db);
  const since = Number(state.rows[0]?.value ?? 0);
  const from = Math.max(asked, since);
  const { rows } = await sql<Pick<GuardrailCount, 'guardrail' | 'judged' | 'failed' | 'denied'>>`
    select guardrail, sum(judged) as judged, sum(failed) as failed, sum(denied) as denied from analytics_guardrails
    where ${within(reach)} and hour >= ${Math.floor(from / HOUR_MS)} and hour < ${Math.ceil(until / HOUR_MS)}
    group by guardrail having sum(judged) > 0 order by sum(judged) desc, guardrail limit ${MOST_GUARDRAILS}`.execute(
    db,
  );
  const data = rows.map(({ guardrail, ...counts }) => {
    const [requests, failed, denied] = [Number(counts.judged), Number(counts.failed), Number(counts.denied)];
    return { guardrail, requests, passed: requests - failed - denied, failed, denied };
  });
  return { object: 'list', counted_from: since === 0 ? null : new Date(since).toISOString(), data };
}

/** The entries of the newest calls that a guardrail objected to; null: any of them. */
export async function latestHits(
  db: Kysely<LogTables>,
  reach: LogReach,
  guardrail: string | null,
  limit: number,
): Promise<string[]> {
  const isMeant = guardrail === null ? sql<boolean>`true` : sql<boolean>`guardrail = ${guardrail}`;
  // Each hour has as many as are wanted of all, so rows of the newest hours are enough.
  const { rows } = await sql<{ hour: number; hits: string }>`
    select hour, hits from analytics_guardrails where ${within(reach)} and ${isMeant} and hits <> '[]'
    order by hour desc limit ${MOST_ROWS}`.execute(db);
  return newestOf(rows.flatMap(({ hits }) => hitsIn(hits)))
    .slice(0, Math.min(limit, MOST_HITS))
    .map(([, id]) => id);
}

const MOST_ROWS = 500;
