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
  /** Exit codes of workers nobody had killed. */
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
  const crew = new Crew({ place, timing, concurrency: options.concurrency, pauseMs: options.pauseMs });
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
    return { ...(await findings(store, stopped, stalls.list)), lost: crew.lost, exits };
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

interface Member {
  readonly name: string;
  readonly child: Bun.Subprocess<'ignore', 'pipe', 'inherit'>;
  isAwake: boolean;
}

/** The worker processes. */
class Crew {
  readonly #order: Omit<WorkerOrder, 'name'>;
  readonly #members = new Map<string, Member>();
  readonly #arrivals: Promise<void>[] = [];
  #hired = 0;
  lost = 0;

  constructor(order: Omit<WorkerOrder, 'name'>) {
    this.#order = order;
  }

  get awake(): Member[] {
    return [...this.#members.values()].filter(({ isAwake }) => isAwake);
  }

  /** Resolves when it works. */
  add(): Promise<void> {
    const name = `worker ${++this.#hired}`;
    const order: WorkerOrder = { ...this.#order, name };
    const child = Bun.spawn([process.execPath, join(import.meta.dir, 'work-worker.ts'), JSON.stringify(order)], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const ready = Promise.withResolvers<void>();
    void this.#listen(child, () => {
      this.#members.set(name, { name, child, isAwake: true });
      ready.resolve();
    });
    void child.exited.then((code) => ready.reject(new Error(`${name} ended with ${code} instead of starting`)));
    this.#arrivals.push(ready.promise);
    return ready.promise;
  }

  async #listen(child: Bun.Subprocess<'ignore', 'pipe', 'inherit'>, onReady: () => void) {
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of child.stdout as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(piece, { stream: true });
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        if (line === 'ready') onReady();
        if (line.startsWith('lost ')) this.lost++;
      }
    }
  }

  async kill({ name, child }: Member): Promise<void> {
    this.#members.delete(name);
    child.kill('SIGKILL');
    await child.exited;
  }

  /** It counts as awake again when it has had the time to write what it must not. */
  freeze(member: Member, forMs: number) {
    member.isAwake = false;
    member.child.kill('SIGSTOP');
    setTimeout(() => member.child.kill('SIGCONT'), forMs);
    setTimeout(
      () => {
        member.isAwake = true;
      },
      forMs + this.#order.pauseMs + 300,
    );
  }

  /** Lets the frozen thaw and do what they can, then ends all; answers their exit codes. */
  async stop(): Promise<number[]> {
    await Promise.all(this.#arrivals);
    while (this.awake.length < this.#members.size) await Bun.sleep(50);
    for (const { child } of this.awake) child.kill('SIGTERM');
    return Promise.all([...this.#members.values()].map(({ child }) => child.exited));
  }

  async abandon(): Promise<void> {
    await Promise.allSettled(this.#arrivals);
    for (const { child } of this.#members.values()) child.kill('SIGKILL');
    await Promise.all([...this.#members.values()].map(({ child }) => child.exited));
  }
}
