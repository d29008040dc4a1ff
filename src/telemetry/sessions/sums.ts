import { NANO_DOLLARS } from '../../core/money.ts';
import type { LogRow, LogTables, SessionRow } from '../log-columns.ts';

/** What the sums of a session are made of. */
export const SUMMED = [
  'id',
  'workspace_id',
  'session_id',
  'organisation_id',
  'created_at',
  'duration_ms',
  'status',
  'failed_by',
  'model',
  'cost',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_tokens',
  'reasoning_tokens',
] as const satisfies readonly (keyof LogRow)[];

export type Summed = Pick<LogRow, (typeof SUMMED)[number]>;

/** Columns that are added up. */
export const COUNTS = [
  'calls',
  'errors',
  'unpriced_calls',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'nano_dollars',
] as const satisfies readonly (keyof SessionRow)[];

export type ModelRow = LogTables['request_log_session_models'];

export interface SessionSums {
  readonly session: SessionRow;
  readonly models: readonly ModelRow[];
}

/** What entries amount to, session by session. In the order of their keys: writers that lock rows in one order never wait in a ring. */
export function sumsOf(rows: readonly Summed[]): SessionSums[] {
  const groups = Map.groupBy(rows.filter(isInSession), (row) => `${row.workspace_id} ${row.session_id}`);
  return [...groups.values()].map((group) => sumOf(group as [Summed, ...Summed[]])).sort(byKey);
}

/** Of strangers and of calls outside of any session there is nothing to add up. */
const isInSession = ({ workspace_id, session_id }: Summed) => Boolean(workspace_id && session_id);

function sumOf(rows: readonly [Summed, ...Summed[]]): SessionSums {
  const [{ workspace_id, session_id, organisation_id, created_at }] = rows;
  const session: SessionRow = {
    workspace_id: workspace_id!,
    session_id: session_id!,
    organisation_id,
    first_at: created_at,
    last_at: created_at,
    ended_at: 0,
    calls: 0,
    errors: 0,
    unpriced_calls: 0,
    input_tokens: 0,
    output_tokens: 0,
    total_tokens: 0,
    cached_tokens: 0,
    reasoning_tokens: 0,
    nano_dollars: 0,
  };
  const models = new Map<string, ModelRow>();
  for (const row of rows) {
    const cost = nanoDollars(row);
    session.first_at = Math.min(session.first_at, row.created_at);
    session.last_at = Math.max(session.last_at, row.created_at);
    session.ended_at = Math.max(session.ended_at, endOf(row));
    session.calls++;
    if (row.status >= 400 || row.failed_by !== null) session.errors++;
    if (row.cost === null && (row.total_tokens ?? row.input_tokens ?? row.output_tokens) !== null)
      session.unpriced_calls++;
    session.input_tokens += row.input_tokens ?? 0;
    session.output_tokens += row.output_tokens ?? 0;
    session.total_tokens += row.total_tokens ?? 0;
    session.cached_tokens += row.cached_tokens ?? 0;
    session.reasoning_tokens += row.reasoning_tokens ?? 0;
    session.nano_dollars += cost;
    if (row.model === null) continue;
    const known = models.get(row.model);
    if (known) {
      known.calls++;
      known.nano_dollars += cost;
    } else {
      const { workspace_id, session_id } = session;
      models.set(row.model, { workspace_id, session_id, model: row.model, calls: 1, nano_dollars: cost });
    }
  }
  return { session, models: [...models.values()].sort((one, other) => compare(one.model, other.model)) };
}

const nanoDollars = ({ cost }: Summed): number => Math.round((cost ?? 0) * NANO_DOLLARS);

/** Whole milliseconds, cut off as the stores do it. */
const endOf = ({ created_at, duration_ms }: Summed): number => created_at + Math.trunc(duration_ms);

const byKey = ({ session: one }: SessionSums, { session: other }: SessionSums): number =>
  compare(one.workspace_id, other.workspace_id) || compare(one.session_id, other.session_id);

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
