import { sql } from 'kysely';
import { type Page, page } from '../../core/paging.ts';
import type { LogRow } from '../log-columns.ts';
import { labelsOf } from '../log-labels.ts';
import type { Entries, Selection } from './entries.ts';
import { columnsOf, type Measure, selected } from './measures.ts';
import type { GroupQuestion } from './question.ts';
import { inSlices } from './slices.ts';
import { ratio, sumsOf, type Tally } from './tallies.ts';

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

const sums = sumsOf(MEASURED);

/** The groups with the most requests first. Entries that have no such value are a group of their own, named null. */
export async function listGroups(question: GroupQuestion, entries: Entries, deadline: number): Promise<GroupPage> {
  const { by, range } = question;
  const column = typeof by === 'string' ? by : 'metadata';
  const nameOf = typeof by === 'string' ? (name: Name) => name : valueUnder(by.metadata);
  const groups = new Map<Name, Tally<Row>>();
  const add = (row: Row) => {
    const name = nameOf(row.group_name);
    const group = groups.get(name) ?? sums();
    group.add(row);
    groups.set(name, group);
  };
  await inSlices(range, async (slice) => (await entries<Row>(selectionOf(column), slice)).forEach(add), { deadline });
  const key = typeof by === 'string' ? by : 'value';
  const all = [...groups].map(([name, group]) => shown(key, name, group.figures() as Sums));
  all.sort((one, other) => mostRequests(one, other) || byName(one[key]!, other[key]!));
  const start = question.current_page * question.page_size;
  return page(all.slice(start, start + question.page_size), all.length, question);
}

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
