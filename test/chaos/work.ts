import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Engine } from '../../src/storage/migrate.ts';
import { openPostgres, openSqlite, type Store } from '../../src/storage/store.ts';
import { defaultTiming, type Timing } from '../../src/work/work.ts';
import { createWorkers } from '../../src/work/workers.ts';
import { seeded } from '../fuzz.ts';
import { createDatabase } from '../postgres.ts';
import { Crew } from './crew.ts';
import type { WorkerOrder } from './work-worker.ts';

export interface ChaosOptions {
  readonly engine: Engine;
  readonly items: number;
  readonly processes: number;
  readonly concurrency: number;
  readonly pauseMs: number;
  readonly timing?: Timing;
  readonly kills: number;
  readonly freezes: number;
  /** Between two of them. */
  readonly everyMs: number;
  readonly limitMs: number;
  readonly report?: (line: string) => void;
}

export interface ChaosResult {
  readonly done: number;
  /** Items whose effect is there more than once. */
  readonly twice: string[];
  /** Writes that came after a write under a newer fence. */
  readonly lateWrites: string[];
  /** How often a worker noticed that its lease was lost. */
  readonly lost: number;
  /** How long the work of each stopped process lay idle. */
  readonly takeoversMs: number[];
  readonly left: number;
  /** Exit codes of workers that the test did not kill. */
  readonly exits: number[];
}

/** Does `items` while processes are killed and frozen at random, and tells what came of it. */
export async function workChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { engine, processes, everyMs, limitMs, timing = defaultTiming, report } = options;
  let { kills, freezes } = options;
  const seed = Date.now() % 100_000;
  report?.(`seed ${seed}`);
  const random = seeded(seed);
  const home = mkdtempSync(join(tmpdir(), 'gateway-chaos-'));
  const place: WorkerOrder['place'] =
    engine === 'postgres' ? { postgres: await createDatabase() } : { sqlite: join(home, 'state.db') };
  const store = 'postgres' in place ? await openPostgres(place.postgres) : openSqlite(place.sqlite);
  const { concurrency, pauseMs } = options;
  const order: Omit<WorkerOrder, 'name'> = { place, timing, concurrency, pauseMs };
  let lost = 0;
  const crew = new Crew(join(import.meta.dir, 'work-worker.ts'), order, {
    thawingMs: pauseMs + 300,
    onLine: (line) => {
      if (line.startsWith('lost ')) lost++;
    },
  });
  const stopped: Held[] = [];
  const stalls = watchStalls();
  try {
    await prepare(store, options.items);
    for (let number = 0; number < processes; number++) await crew.add();
    const deadline = performance.now() + limitMs;
    for (let nextAt = performance.now() + everyMs; ; await Bun.sleep(50)) {
      const left = await leftIn(store);
      if (left === 0) break;
      if (performance.now() > deadline) throw new Error(`${left} items are not done after ${limitMs} ms`);
      // One stays awake, unless there is only one anyway.
      if (performance.now() < nextAt || kills + freezes === 0 || crew.awake.length < Math.min(2, processes)) continue;
      nextAt = performance.now() + everyMs * (0.5 + random.next());
      // The first one is frozen, while there is much to lose: what wakes up too late is what is to be seen.
      const isKill = stopped.length > 0 && random.below(kills + freezes) < kills;
      const victim = random.pick(crew.awake);
      report?.(`${isKill ? 'kill' : 'freeze'} ${victim.name}, ${left} left`);
      if (isKill) await crew.kill(victim);
      else crew.freeze(victim, timing.leaseMs * 1.3 + timing.sweepMs * 2 + random.below(timing.leaseMs));
      stopped.push(...(await heldBy(store, victim.name)));
      if (isKill) void crew.add();
      if (isKill) kills--;
      else freezes--;
    }
    for (const { from, until } of stalls.list) report?.(`the machine stood still for ${until - from} ms`);
    const exits = await crew.stop();
    return { ...(await findings(store, stopped, stalls.list)), lost, exits };
  } finally {
    stalls.end();
    await crew.abandon();
    await store.close();
    rmSync(home, { recursive: true, force: true });
  }
}

async function prepare(store: Store, items: number) {
  await store.migrate();
  const key = store.engine === 'postgres' ? sql`bigserial primary key` : sql`integer primary key autoincrement`;
  await sql`create table chaos (seq ${key}, item text, fence bigint, node text, step text, at bigint)`.execute(
    store.db,
  );
  const kind = { name: 'item', concurrency: 0, run: async () => {}, failed: async () => {}, cancelled: async () => {} };
  const workers = createWorkers({ store, node: 'front', kinds: [kind], onError: () => {} });
  await store.transaction(async (db) => {
    for (let number = 0; number < items; number++)
      await workers.enqueue(db, { kind: 'item', tenant: `tenant ${number % 5}`, ref: `item ${number}` });
  });
}

async function leftIn(store: Store): Promise<number> {
  const { left } = await store.db
    .selectFrom('work')
    .select((select) => select.fn.countAll<number>().as('left'))
    .executeTakeFirstOrThrow();
  return left;
}

interface Held {
  readonly item: string;
  readonly fence: number;
  readonly stoppedAt: number;
}

/** What a process had in its hands when it was stopped. */
async function heldBy(store: Store, name: string): Promise<Held[]> {
  const stoppedAt = Date.now();
  const rows = await store.db.selectFrom('work').select(['ref', 'fence']).where('owner', 'like', `${name}/%`).execute();
  return rows.map(({ ref, fence }) => ({ item: ref, fence, stoppedAt }));
}

interface Event {
  readonly item: string;
  readonly fence: number;
  readonly node: string;
  readonly step: 'begun' | 'effect';
  readonly at: number;
}

async function findings(store: Store, stopped: readonly Held[], stalls: readonly Stall[]) {
  const { rows } = await sql<Event>`select item, fence, node, step, at from chaos order by seq`.execute(store.db);
  const byItem = Map.groupBy(rows, ({ item }) => item);
  const effectsOf = (events: readonly Event[]) => events.filter(({ step }) => step === 'effect').length;
  const lateWrites = rows.filter((event) => {
    const events = byItem.get(event.item)!;
    return events.slice(0, events.indexOf(event)).some(({ fence }) => fence > event.fence);
  });
  const takeoversMs = stopped.flatMap(({ item, fence, stoppedAt }) => {
    const next = byItem.get(item)?.find((event) => event.fence > fence);
    return next ? [next.at - stoppedAt - stalledBetween(stalls, stoppedAt, next.at)] : [];
  });
  return {
    done: [...byItem.values()].filter((events) => effectsOf(events) > 0).length,
    twice: [...byItem].filter(([, events]) => effectsOf(events) > 1).map(([item]) => item),
    lateWrites: lateWrites.map(({ item, fence, node, step }) => `${step} of ${item} by ${node} under fence ${fence}`),
    takeoversMs,
    left: await leftIn(store),
  };
}

interface Stall {
  readonly from: number;
  readonly until: number;
}

/** When this process got no time at all: a machine that stands still takes nothing over. */
function watchStalls() {
  const list: Stall[] = [];
  let last = Date.now();
  const timer = setInterval(() => {
    if (Date.now() - last > 1_000) list.push({ from: last, until: Date.now() });
    last = Date.now();
  }, 100);
  return { list, end: () => clearInterval(timer) };
}

const stalledBetween = (stalls: readonly Stall[], from: number, until: number): number =>
  stalls.reduce((sum, stall) => sum + Math.max(0, Math.min(until, stall.until) - Math.max(from, stall.from)), 0);
