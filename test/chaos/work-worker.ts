import { sql } from 'kysely';
import { type Db, openPostgres, openSqlite } from '../../src/storage/store.ts';
import { type Kind, type Lease, LeaseLost, type Timing } from '../../src/work/work.ts';
import { createWorkers } from '../../src/work/workers.ts';

/** What one worker process is told, as JSON in its only argument. */
export interface WorkerOrder {
  readonly name: string;
  readonly place: { readonly postgres: string } | { readonly sqlite: string };
  readonly timing: Partial<Timing>;
  readonly concurrency: number;
  /** How long an item takes, at most. */
  readonly pauseMs: number;
}

/** Says on its output what it lost; everything else is in the database. Ends on SIGTERM, or in less friendly ways. */
async function work({ name, place, timing, concurrency, pauseMs }: WorkerOrder) {
  const store = 'postgres' in place ? await openPostgres(place.postgres) : openSqlite(place.sqlite);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const workers = createWorkers({
    store,
    node: name,
    kinds: [itemKind({ concurrency, pauseMs, node: name, say })],
    timing,
    isAlone: 'sqlite' in place,
    onError: (what, error) => say(`error ${what}: ${(error as Error).message}`),
  });
  await workers.start();
  process.on('SIGTERM', async () => {
    await workers.stop(2_000);
    await store.close();
    process.exit(0);
  });
  say('ready');
}

interface ItemOptions {
  readonly concurrency: number;
  readonly pauseMs: number;
  readonly node: string;
  readonly say: (line: string) => void;
}

/** Two writes with pauses between and within them: a process is mostly stopped in the middle of something. */
const itemKind = ({ concurrency, pauseMs, node, say }: ItemOptions): Kind => ({
  name: 'item',
  concurrency,
  maxAttempts: 1_000,
  backoff: { firstMs: 100, mostMs: 1_000 },
  run: async (lease) => {
    try {
      await lease.transaction((db) => record(db, lease, node, 'begun'));
      // Half of the handlers do not listen when they are told to stop: only the fence keeps them from writing.
      await pause(Math.random() * pauseMs, Math.random() < 0.5 ? lease.signal : null);
      await lease.transaction(async (db) => {
        await record(db, lease, node, 'effect');
        if (Math.random() < 0.1) await Bun.sleep(20);
        await lease.done(db);
      });
    } catch (error) {
      if (error instanceof LeaseLost) say(`lost ${lease.work.ref} ${lease.work.fence}`);
      throw error;
    }
  },
  failed: async () => {},
  cancelled: async () => {},
});

async function record(db: Db, { work }: Lease, node: string, step: string) {
  await sql`insert into chaos (item, fence, node, step, at)
    values (${work.ref}, ${work.fence}, ${node}, ${step}, ${Date.now()})`.execute(db);
}

async function pause(ms: number, signal: AbortSignal | null) {
  const deadline = performance.now() + ms;
  while (performance.now() < deadline) {
    signal?.throwIfAborted();
    await Bun.sleep(Math.min(20, ms));
  }
}

if (import.meta.main) await work(JSON.parse(process.argv[2]!) as WorkerOrder);
