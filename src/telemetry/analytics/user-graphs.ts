import { sql } from 'kysely';
import type { Selection } from './entries.ts';
import { drawGraph, type Graph } from './graph.ts';
import type { Sources } from './log-graphs.ts';
import { bucketOf } from './logged.ts';
import type { GraphQuestion, LogGraphName } from './question.ts';
import type { Tallied } from './scan.ts';
import { type Figures, ratio, type Tally } from './tallies.ts';
import { type LoggedTime, MINUTE_MS } from './time-range.ts';

interface Seen {
  readonly users: number;
  readonly requests: number;
}

/** What graphs of users show of those who made calls. */
const SHOWN = {
  users: ({ users }: Seen): Figures => ({ users }),
  'users/requests': (seen: Seen): Figures => ({ ...seen, requests_per_user: ratio(seen.requests, seen.users) }),
} as const satisfies Partial<Record<LogGraphName, unknown>>;
export type UserGraphName = keyof typeof SHOWN;

export const isUserGraph = (name: LogGraphName): name is UserGraphName => name in SHOWN;

interface UserRow {
  readonly user_id: string;
  readonly requests: number;
}

const byUser = (bucketMs: number): Selection => ({
  columns: ['created_at', 'user_id'],
  names: [bucketOf(bucketMs), sql.ref('user_id')],
  sums: { requests: sql`count(*)` },
  where: sql`user_id is not null`,
});

/**
 * How many users there were. Cells tell each user and point once: they are counted by numbers, and names are looked at where what
 * waits, or the log, says more about the same.
 */
export async function drawUsers(
  name: UserGraphName,
  { filter, range: asked, bucketMs: wishedMs }: GraphQuestion,
  { entries, figures, slices }: Sources,
  deadline: number,
): Promise<Graph> {
  const look = await figures.look(
    { filter, range: asked, isOverTime: true, bucketMs: wishedMs, by: 'user_id', sums: ['calls'] },
    deadline,
  );
  const { scanned, waiting } = look.tally('calls');
  const [points, whole] = [byBucket(scanned), together(scanned)];
  return drawGraph<UserRow>({
    range: look.range,
    shortestMs: Math.max(look.shortestMs, MINUTE_MS),
    wishedMs,
    tally: (bucket) => usersIn(scanned.names, bucket === null ? whole : (points.get(bucket) ?? NONE), SHOWN[name]),
    known: waiting.flatMap((row): [UserRow, number][] =>
      row.name === null ? [] : [[{ user_id: String(row.name), requests: row.calls }, row.bucket]],
    ),
    rows: (slice: LoggedTime, bucketMs: number) => entries(byUser(bucketMs), slice, look.workspaces),
    asks: look.log,
    slices,
    deadline,
  });
}

/** Calls of some users, by their numbers; each of them once. */
interface Calls {
  readonly numbers: number[];
  readonly counts: number[];
}

const NONE: Calls = { numbers: [], counts: [] };

function byBucket({ buckets, numbers, totals }: Tallied): Map<number, Calls> {
  const found = new Map<number, Calls>();
  for (let at = 0; at < buckets.length; at++) {
    let calls = found.get(buckets[at]!);
    if (!calls) {
      calls = { numbers: [], counts: [] };
      found.set(buckets[at]!, calls);
    }
    calls.numbers.push(numbers[at]!);
    calls.counts.push(totals[at]!);
  }
  return found;
}

function together({ names, numbers, totals }: Tallied): Calls {
  const counts = new Float64Array(names.length);
  for (let at = 0; at < numbers.length; at++) counts[numbers[at]!]! += totals[at]!;
  return { numbers: Array.from(names.keys()), counts: Array.from(counts) };
}

function usersIn(names: Tallied['names'], { numbers, counts }: Calls, shown: (seen: Seen) => Figures): Tally<UserRow> {
  const others = new Map<string, number>();
  return {
    add: ({ user_id, requests }) => void others.set(user_id, (others.get(user_id) ?? 0) + requests),
    figures: () => {
      let [users, requests] = [0, 0];
      // What was erased since is taken away: some may have none left.
      const see = (count: number) => {
        if (count <= 0) return;
        users++;
        requests += count;
      };
      const left = new Map(others);
      for (let at = 0; at < numbers.length; at++) {
        const name = names[numbers[at]!];
        if (name === null) continue;
        const more = left.size > 0 ? left.get(String(name)) : undefined;
        if (more !== undefined) left.delete(String(name));
        see(counts[at]! + (more ?? 0));
      }
      for (const count of left.values()) see(count);
      return shown({ users, requests });
    },
  };
}
