import { sql } from 'kysely';
import { type Page, page } from '../../core/paging.ts';
import type { LogRow } from '../log-columns.ts';
import type { Selection } from './entries.ts';
import type { Found, Looked } from './figures.ts';
import type { Sources } from './log-graphs.ts';
import { inLog } from './logged.ts';
import { columnsOf, type Measure, measured, sumsIn, sumsInLog } from './measures.ts';
import { type FacetQuestion, GROUPS, type GroupQuestion, MADE_GROUPS } from './question.ts';
import { ratio, sumsOf, type Tally } from './tallies.ts';
import { type LoggedTime, MINUTE_MS, type TimeRange } from './time-range.ts';

const MEASURED = [
  'requests',
  'errors',
  'cost',
  'requests_without_cost',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'duration_ms',
] as const satisfies readonly Measure[];

type Name = string | number | null;
type Sums = Record<(typeof MEASURED)[number], number>;

/** One group: its name under the name of the column, then its figures. */
export type Group = Readonly<Record<string, Name>>;
export type GroupPage = Page<Group>;

export interface Facets {
  readonly object: 'analytics-facets';
  readonly facets: Readonly<
    Record<
      string,
      { readonly values: readonly { readonly value: Name; readonly requests: number }[]; readonly has_more: boolean }
    >
  >;
}

/** The groups with the most requests first. Entries that have no such value are a group of their own, named null. */
export async function listGroups(question: GroupQuestion, sources: Sources, deadline: number): Promise<GroupPage> {
  return groupsIn(question, await sources.figures.find(asking(question), deadline), sources, deadline);
}

const asking = ({ by, filter, range }: Grouping, measures: readonly Measure[] = MEASURED): Looked => ({
  filter,
  range,
  by,
  sums: sumsIn(measures),
  isOverTime: false,
});
type Grouping = Pick<GroupQuestion, 'by' | 'filter' | 'range'>;

async function groupsIn(question: GroupQuestion, found: Found, sources: Sources, deadline: number): Promise<GroupPage> {
  const { by } = question;
  const groups = await sumsByName(MEASURED, by, found, sources, deadline);
  const key = typeof by === 'string' ? by : 'value';
  const all = groups.map(([name, figures]) => shown(key, name, figures));
  all.sort((one, other) => mostRequests(one, other) || byName(one[key]!, other[key]!));
  const start = question.current_page * question.page_size;
  return page(all.slice(start, start + question.page_size), all.length, question);
}

type Counts<Wanted extends Measure> = Record<Wanted | 'requests', number>;

async function sumsByName<Wanted extends Measure>(
  measures: readonly (Wanted | 'requests')[],
  by: GroupQuestion['by'],
  found: Found,
  { entries, slices }: Sources,
  deadline: number,
): Promise<[name: Name, figures: Counts<Wanted>][]> {
  const { column, nameOf } = inLog(by);
  const groups = new Map<Name, Tally<Counts<Wanted>>>();
  const sums = sumsOf(measures);
  const add = (name: Name, row: Counts<Wanted>) => {
    const group = groups.get(name) ?? sums();
    group.add(row);
    groups.set(name, group);
  };
  for (const row of found.rows) add(row.name, measured(measures, row));
  const selection = selectionOf(column, measures);
  const addSlice = async (slice: LoggedTime) => {
    for (const row of await entries<Counts<Wanted> & { readonly group_name: Name }>(selection, slice, found.workspaces))
      add(nameOf(row.group_name), row);
  };
  await slices(found.log, addSlice, deadline);
  return [...groups]
    .map(([name, group]): [Name, Counts<Wanted>] => [name, group.figures() as Counts<Wanted>])
    .filter(([, { requests }]) => requests !== 0);
}

const FACETS = [...Object.values(GROUPS), ...Object.values(MADE_GROUPS)];

/** Which values there are of everything that entries can be told apart by, in whole hours or days. */
export async function listFacets(
  { filter, range, limit }: FacetQuestion,
  sources: Sources,
  deadline: number,
): Promise<Facets> {
  const facets: Record<string, Facets['facets'][string]> = {};
  const wide = widely(range);
  const found = await sources.figures.findAll(
    FACETS.map((by) => asking({ by, filter, range: wide }, ['requests'])),
    deadline,
  );
  for (const [at, by] of FACETS.entries()) {
    const counts = await sumsByName(['requests'], by, found[at]!, sources, deadline);
    const values = counts.map(([value, { requests }]) => ({ value, requests }));
    values.sort((one, other) => other.requests - one.requests || byName(one.value, other.value));
    facets[by] = { values: values.slice(0, limit), has_more: values.length > limit };
  }
  return { object: 'analytics-facets', facets };
}

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Of longer times, whole days are looked at. */
const LONG_MS = 2 * DAY_MS;

/** A list to choose from need not be told apart by less, and is quickly made then. */
function widely({ from, until }: TimeRange): TimeRange {
  const ms = until - from > LONG_MS ? DAY_MS : HOUR_MS;
  return { from: Math.floor(from / ms) * ms, until: Math.ceil(until / ms) * ms };
}

const selectionOf = (column: keyof LogRow, measures: readonly Measure[]): Selection => ({
  columns: [...new Set<keyof LogRow>([column, ...columnsOf(measures)])],
  names: [sql`${sql.ref(column)} as group_name`],
  sums: sumsInLog(measures),
});

const shown = (key: string, name: Name, { duration_ms, ...figures }: Sums): Group => ({
  [key]: name,
  ...figures,
  avg_duration_ms: ratio(duration_ms, figures.requests),
});

const mostRequests = (one: Group, other: Group) => Number(other.requests) - Number(one.requests);

const byName = (one: Name, other: Name): number => {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
  return one < other ? -1 : one > other ? 1 : 0;
};
