import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Engine } from '../../storage/migrate.ts';
import { FACT_SOURCES } from '../aggregates/fact.ts';
import type { LogRow, LogTables } from '../log-columns.ts';
import {
  asksForLabels,
  conditionsOf,
  firstPair,
  isInWorkspace,
  isInWorkspaces,
  isLabelled,
} from '../log-conditions.ts';
import type { LogFilter } from '../log-query.ts';
import type { WorkspacesOf } from '../log-workspaces.ts';
import type { LoggedTime } from './time-range.ts';

export interface EntriesOptions {
  readonly db: Kysely<LogTables>;
  readonly engine: Engine;
  readonly filter: LogFilter;
  /** Asked where it is not known which workspaces have entries. */
  readonly workspaces: WorkspacesOf;
}

/** What is asked about the entries of a slice, which it finds in the table `entries`. */
export interface Selection {
  readonly columns: readonly (keyof LogRow)[];
  /** What rows are told apart by. */
  readonly names: readonly RawBuilder<unknown>[];
  readonly where?: RawBuilder<unknown>;
  /** What all entries of a row amount to. */
  readonly sums: Readonly<Record<string, RawBuilder<unknown>>>;
  /** Numbers of all entries of a row, as text; of entries that are taken away it begins with LESS. */
  readonly lists?: Readonly<Record<string, RawBuilder<unknown>>>;
}

export const LESS = '-';

/** All that figures are made of, entry by entry. */
export const WHOLE_ENTRIES: Selection = {
  columns: FACT_SOURCES,
  names: FACT_SOURCES.map((name) => sql.ref(name)),
  sums: {},
};

/** Workspaces that may have entries of a time; null stands for "none". */
export type Workspaces = readonly (string | null)[];

/** Runs a selection over a slice; one group may come in several rows. `known`: the workspaces, where they are known. */
export type Entries = <Row>(selection: Selection, slice: LoggedTime, known: Workspaces | null) => Promise<Row[]>;

/** SQLite takes at most 500 selections in one statement, and the text of one grows with them. */
const PLACES_AT_ONCE = 50;

/** Where entries are looked for: in one workspace, in none, or in several at once. */
type Place = string | null | readonly string[];

export function entriesOf({ db, engine, filter, workspaces: workspacesOf }: EntriesOptions): Entries {
  return async <Row>(selection: Selection, slice: LoggedTime, known: Workspaces | null) => {
    const { columns, names, where } = selection;
    const added = addedUp(selection, slice.isLess ?? false);
    const places = placesIn(known ?? (await workspacesOf(slice)), filter);
    let rows: Row[] = [];
    for (let at = 0; at < places.length; at += PLACES_AT_ONCE) {
      const branches = places
        .slice(at, at + PLACES_AT_ONCE)
        .map((place) => branch({ columns, filter, place, slice, engine }));
      const query = sql<Row>`select ${sql.join([...names, ...added])} from (${sql.join(branches, sql` union all `)}) as entries
        ${where ? sql`where ${where}` : sql``}
        ${names.length > 0 && added.length > 0 ? sql`group by ${sql.raw(numbersTo(names.length))}` : sql``}`;
      rows = rows.concat((await query.execute(db)).rows);
    }
    return rows;
  };
}

/** What is taken away is as much below zero. */
function addedUp({ sums, lists = {} }: Selection, isLess: boolean): RawBuilder<unknown>[] {
  const [number, list] = isLess ? [sql`-`, sql`${sql.lit(LESS)} || `] : [sql``, sql``];
  return [
    ...Object.entries(sums).map(([name, sum]) => sql`${number}${sum} as ${sql.ref(name)}`),
    ...Object.entries(lists).map(([name, values]) => sql`${list}${values} as ${sql.ref(name)}`),
  ];
}

/**
 * Every index begins with the workspace, and both stores look up several in one. Labels are joined by workspace, so those are
 * asked about one by one.
 */
function placesIn(workspaces: Workspaces, filter: LogFilter): readonly Place[] {
  if (asksForLabels(filter)) return workspaces;
  const named = workspaces.filter((workspace) => workspace !== null);
  return [...(named.length > 0 ? [named] : []), ...(named.length < workspaces.length ? [null] : [])];
}

const numbersTo = (groups: number) => Array.from({ length: groups }, (_, index) => index + 1).join(', ');

interface Branch {
  readonly columns: readonly (keyof LogRow)[];
  readonly filter: LogFilter;
  readonly place: Place;
  readonly slice: LoggedTime;
  readonly engine: Engine;
}

function branch({ columns, filter, place, slice: { from, until }, engine }: Branch) {
  const [source, isThere, time] = sourceOf(place, filter, engine);
  const conditions = [
    isThere,
    sql`${time} >= ${from} and ${time} < ${until}`,
    ...conditionsOf(filter, typeof place === 'string' ? place : null),
  ];
  // As text: names one by one take longer to put together than a short time takes to read.
  return sql`select ${sql.raw(columns.map((column) => `request_logs.${column}`).join(', '))}
    from ${source} where ${sql.join(conditions, sql` and `)}`;
}

const CREATED_AT = sql.raw('request_logs.created_at');

function sourceOf(place: Place, filter: LogFilter, engine: Engine) {
  const pair = firstPair(filter);
  if (Array.isArray(place)) return [sql`request_logs`, isInWorkspaces(place, engine), CREATED_AT] as const;
  const workspace = place as string | null;
  return pair
    ? ([
        sql`request_log_labels as label cross join request_logs`,
        isLabelled(workspace, pair),
        sql.raw('label.created_at'),
      ] as const)
    : ([sql`request_logs`, isInWorkspace(workspace), CREATED_AT] as const);
}
