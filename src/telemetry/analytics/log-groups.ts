import { sql } from 'kysely';
import { type Page, page } from '../../core/paging.ts';
import { cacheStatusOf, endpointOf, verdictOf } from '../aggregates/fact.ts';
import type { LogRow } from '../log-columns.ts';
import { labelsOf } from '../log-labels.ts';
import type { Entries, Selection } from './entries.ts';
import type { Asked, Found } from './figures.ts';
import type { Sources } from './log-graphs.ts';
import { columnsOf, type Measure, measured, selected, sumsIn } from './measures.ts';
import { type FacetQuestion, GROUPS, type GroupQuestion, MADE_GROUPS } from './question.ts';
import { inSlices } from './slices.ts';
import { ratio, sumsOf, type Tally } from './tallies.ts';
import { MINUTE_MS, type TimeRange } from './time-range.ts';

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
type Row = Sums & { readonly group_name: Name };

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

const sums = sumsOf(MEASURED);

/** The groups with the most requests first. Entries that have no such value are a group of their own, named null. */
export async function listGroups(
  question: GroupQuestion,
  { entries, figures }: Sources,
  deadline: number,
): Promise<GroupPage> {
  return groupsIn(question, await figures.find(asking(question)), entries, deadline);
}

const asking = ({ by, filter, range }: GroupQuestion): Asked => ({
  filter,
  range,
  by,
  sums: sumsIn(MEASURED),
  isOverTime: false,
});

async function groupsIn(question: GroupQuestion, found: Found, entries: Entries, deadline: number): Promise<GroupPage> {
  const { by } = question;
  const { column, nameOf } = inLog(by);
  const groups = new Map<Name, Tally<Sums>>();
  const add = (name: Name, row: Sums) => {
    const group = groups.get(name) ?? sums();
    group.add(row);
    groups.set(name, group);
  };
  for (const row of found.rows) add(row.name, measured(MEASURED, row));
  const addSlice = async (slice: TimeRange) => {
    for (const row of await entries<Row>(selectionOf(column), slice)) add(nameOf(row.group_name), row);
  };
  for (const part of found.log) await inSlices(part, addSlice, { deadline });
  const key = typeof by === 'string' ? by : 'value';
  const all = [...groups]
    .map(([name, group]) => shown(key, name, group.figures() as Sums))
    .filter(({ requests }) => requests !== 0);
  all.sort((one, other) => mostRequests(one, other) || byName(one[key]!, other[key]!));
  const start = question.current_page * question.page_size;
  return page(all.slice(start, start + question.page_size), all.length, question);
}

/** Where the log has it, and what is made of that. */
function inLog(by: GroupQuestion['by']): { column: keyof LogRow; nameOf: (value: Name) => Name } {
  if (typeof by !== 'string') return { column: 'metadata', nameOf: valueUnder(by.metadata) };
  if (by === 'endpoint') return { column: 'path', nameOf: (path) => endpointOf(String(path)) };
  if (by === 'verdict') return { column: 'hook_results', nameOf: (results) => verdictOf(results as string | null) };
  if (by === 'cache_status') return { column: 'attempts', nameOf: (tried) => cacheStatusOf(tried as string | null) };
  return { column: by, nameOf: (name) => name };
}

const FACETS = [...Object.values(GROUPS), ...Object.values(MADE_GROUPS)];

/**
 * Which values there are of everything that entries can be told apart by, in whole minutes: a list to choose from need
 * not look into the log for parts of them.
 */
export async function listFacets(
  { filter, range, limit }: FacetQuestion,
  { entries, figures }: Sources,
  deadline: number,
): Promise<Facets> {
  const facets: Record<string, Facets['facets'][string]> = {};
  const shared = { kind: 'group', filter, range: wholeMinutes(range), current_page: 0, page_size: limit } as const;
  const questions = FACETS.map((by) => ({ ...shared, by }));
  const found = await figures.findAll(questions.map(asking));
  for (const [at, question] of questions.entries()) {
    const { by } = question;
    const { data, has_more } = await groupsIn(question, found[at]!, entries, deadline);
    const values = data.map((group) => ({ value: group[by]!, requests: Number(group.requests) }));
    facets[by] = { values, has_more };
  }
  return { object: 'analytics-facets', facets };
}

const wholeMinutes = ({ from, until }: TimeRange): TimeRange => ({
  from: Math.floor(from / MINUTE_MS) * MINUTE_MS,
  until: Math.ceil(until / MINUTE_MS) * MINUTE_MS,
});

const selectionOf = (column: keyof LogRow): Selection => ({
  columns: [...new Set<keyof LogRow>([column, ...columnsOf(MEASURED)])],
  select: sql`${sql.ref(column)} as group_name, ${selected(MEASURED)}`,
  groups: 1,
});

/** Metadata come as they are stored: PostgreSQL cannot look into all that clients may have written there. */
const valueUnder = (key: string) => (metadata: Name) =>
  labelsOf({ metadata: metadata as string | null }).find(([name]) => name === key)?.[1] ?? null;

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
