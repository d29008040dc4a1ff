import type { Engine } from '../../storage/migrate.ts';
import { HOUR_MS } from '../aggregates/grains.ts';
import type { Work } from '../aggregates/work.ts';
import { COUNT_COLUMNS, type GuardrailCount, GuardrailCounts, type Judged } from './counts.ts';

const columns = COUNT_COLUMNS.join(', ');
const AT_ONCE = 1_000;
const ARRAYS = '$1::text[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[]';

/** Statements with `rows` are run for any number of them: on PostgreSQL all at once, as arrays. */
const STATEMENTS = {
  sqlite: {
    fresh: `select id, ${columns} from analytics_guardrails where is_merged = 0 order by id limit ${AT_ONCE}`,
    merged: `select id, ${columns} from analytics_guardrails
      where organisation_id = ? and workspace_id = ? and guardrail = ? and hour = ? and is_merged = 1`,
    put: `insert into analytics_guardrails (${columns}, is_merged) values (${COUNT_COLUMNS.map(() => '?').join(', ')}, 1)`,
    drop: 'delete from analytics_guardrails where id = ?',
    dropHour: 'delete from analytics_guardrails where hour = ?',
    dropBefore: 'delete from analytics_guardrails where hour < ?',
    dropWorkspace: 'delete from analytics_guardrails where workspace_id = ?',
  },
  postgres: {
    fresh: `select id, ${columns} from analytics_guardrails where is_merged = 0 order by id limit ${AT_ONCE}`,
    merged: `select count.id, ${COUNT_COLUMNS.map((name) => `count.${name}`).join(', ')}
      from analytics_guardrails as count
      join unnest($1::text[], $2::text[], $3::text[], $4::int[]) as asked (organisation_id, workspace_id, guardrail, hour)
      on count.organisation_id = asked.organisation_id and count.workspace_id = asked.workspace_id
      and count.guardrail = asked.guardrail and count.hour = asked.hour
      where count.is_merged = 1`,
    put: `insert into analytics_guardrails (${columns}, is_merged)
      select given.*, 1 from unnest(${ARRAYS}) as given`,
    drop: 'delete from analytics_guardrails where id = any($1::bigint[])',
    dropHour: 'delete from analytics_guardrails where hour = $1',
    dropBefore: 'delete from analytics_guardrails where hour < $1',
    dropWorkspace: 'delete from analytics_guardrails where workspace_id = $1',
  },
} as const satisfies Record<Engine, Record<string, string>>;

type Row = GuardrailCount & { readonly id: number };

/** This client of PostgreSQL may give large numbers as text. */
const countIn = (row: Row): GuardrailCount => ({
  ...row,
  judged: Number(row.judged),
  failed: Number(row.failed),
  denied: Number(row.denied),
});

/** What nodes add in rows of their own becomes one row for each guardrail and hour. */
export class GuardrailUpkeep {
  readonly #sql: (typeof STATEMENTS)[Engine];

  constructor(engine: Engine) {
    this.#sql = STATEMENTS[engine];
  }

  *merge(): Work<void> {
    const fresh = (yield { text: this.#sql.fresh }) as Row[];
    if (fresh.length === 0) return;
    const keys = new GuardrailCounts()
      .merge(fresh.map((row) => ({ ...countIn(row), judged: 1 })))
      .all()
      .map(({ organisation_id, workspace_id, guardrail, hour }) => [organisation_id, workspace_id, guardrail, hour]);
    const merged = (yield { text: this.#sql.merged, rows: keys }) as Row[];
    yield { text: this.#sql.drop, rows: [...fresh, ...merged].map(({ id }) => [id]) };
    yield* this.#put(new GuardrailCounts().merge([...merged, ...fresh].map(countIn)));
  }

  /** What is counted anew takes the place of what was counted. */
  *dropHour(hour: number): Work<void> {
    yield { text: this.#sql.dropHour, values: [hour / HOUR_MS] };
  }

  *add(rows: readonly Judged[]): Work<void> {
    yield* this.#put(new GuardrailCounts().add(rows));
  }

  *dropBefore(moment: number): Work<void> {
    yield { text: this.#sql.dropBefore, values: [Math.floor(moment / HOUR_MS)] };
  }

  *dropWorkspace(id: string): Work<void> {
    yield { text: this.#sql.dropWorkspace, values: [id] };
  }

  *#put(counts: GuardrailCounts): Work<void> {
    const rows = counts.all().map((count) => COUNT_COLUMNS.map((name) => count[name]));
    if (rows.length > 0) yield { text: this.#sql.put, rows };
  }
}
