import { type Kysely, type RawBuilder, sql } from 'kysely';
import { FACT_SOURCES } from '../aggregates/fact.ts';
import type { LogRow, LogTables } from '../log-columns.ts';
import { conditionsOf, firstPair, isInWorkspace, isLabelled } from '../log-conditions.ts';
import type { LogFilter } from '../log-query.ts';
import type { TimeRange } from './time-range.ts';

export interface EntriesOptions {
  readonly db: Kysely<LogTables>;
  readonly filter: LogFilter;
  /** Asked for when entries are. */
  readonly workspaces: () => Promise<readonly (string | null)[]>;
}

/** What is asked about the entries of a slice, which it finds in the table `entries`. */
export interface Selection {
  readonly columns: readonly (keyof LogRow)[];
  readonly select: RawBuilder<unknown>;
  readonly where?: RawBuilder<unknown>;
  /** How many of the selected expressions, from the first on, each row stands for. */
  readonly groups: number;
}

/** All that figures are made of, entry by entry. */
export const WHOLE_ENTRIES: Selection = {
  columns: FACT_SOURCES,
  select: sql.raw(FACT_SOURCES.join(', ')),
  groups: 0,
};

/** Runs a selection over a slice; one group may come in several rows. */
export type Entries = <Row>(selection: Selection, slice: TimeRange) => Promise<Row[]>;

/** SQLite takes at most 500 selections in one statement, and the text of one grows with them. */
const WORKSPACES_AT_ONCE = 50;

export function entriesOf({ db, filter, workspaces: reach }: EntriesOptions): Entries {
  let asked: Promise<readonly (string | null)[]> | null = null;
  return async <Row>({ columns, select, where, groups }: Selection, slice: TimeRange) => {
    asked ??= reach();
    const workspaces = await asked;
    let rows: Row[] = [];
    for (let at = 0; at < workspaces.length; at += WORKSPACES_AT_ONCE) {
      // A branch for each workspace keeps every index usable: all of them begin with it.
      const branches = workspaces
        .slice(at, at + WORKSPACES_AT_ONCE)
        .map((workspace) => branch(columns, filter, workspace, slice));
      const query = sql<Row>`select ${select} from (${sql.join(branches, sql` union all `)}) as entries
        ${where ? sql`where ${where}` : sql``}
        ${groups > 0 ? sql`group by ${sql.raw(places(groups))}` : sql``}`;
      rows = rows.concat((await query.execute(db)).rows);
    }
    return rows;
  };
}

const places = (groups: number) => Array.from({ length: groups }, (_, index) => index + 1).join(', ');

function branch(
  columns: readonly (keyof LogRow)[],
  filter: LogFilter,
  workspace: string | null,
  { from, until }: TimeRange,
) {
  const pair = firstPair(filter);
  const [source, place, time] = pair
    ? [sql`request_log_labels as label cross join request_logs`, isLabelled(workspace, pair), 'label.created_at']
    : [sql`request_logs`, isInWorkspace(workspace), 'request_logs.created_at'];
  const conditions = [
    place,
    sql`${sql.ref(time)} >= ${from}`,
    sql`${sql.ref(time)} < ${until}`,
    ...conditionsOf(filter, workspace),
  ];
  return sql`select ${sql.join(columns.map((column) => sql.ref(`request_logs.${column}`)))}
    from ${source} where ${sql.join(conditions, sql` and `)}`;
}
