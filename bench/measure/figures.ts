import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { columnsOf } from '../../src/core/columns.ts';
import type { Prices } from '../../src/core/prices.ts';
import { arrivalsOf } from '../../src/telemetry/aggregates/arrivals.ts';
import { USUAL_FIGURES } from '../../src/telemetry/aggregates/options.ts';
import { AttemptTrail } from '../../src/telemetry/attempts.ts';
import { LOG_COLUMNS, type LogRow } from '../../src/telemetry/log-columns.ts';
import type { LogBatch } from '../../src/telemetry/log-sink.ts';
import { openSqliteSink } from '../../src/telemetry/sqlite-sink.ts';
import type { Lab } from '../lab.ts';
import { someEntries } from '../load/log-entries.ts';
import { short } from '../numbers.ts';

/** Microseconds of CPU for each call. */
export interface FiguresSample {
  readonly mix: Mix;
  /** What its only attempt adds to its entry. */
  readonly attempts: number;
  /** What is counted when its entry is written. */
  readonly counted: number;
  /** What takes that into minutes and longer cells afterwards. */
  readonly takenIn: number;
}

/** Calls of one application, all alike; or of two hundred keys that call forty models for people, of which some fail. */
const MIXES = ['alike', 'mixed'] as const;
export type Mix = (typeof MIXES)[number];

export const CALLS_A_SECOND = 100;
/** So many wait for each other before they are written at that rate. */
const BATCH = 10;
const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;
const HOUR_MS = HOUR_MINUTES * MINUTE_MS;
/** An hour in turns that take a second to measure, of which the calmest counts: see `costsInTurns`. */
const TURNS = 20;
const TURN_MINUTES = HOUR_MINUTES / TURNS;
/** What is made of an hour is made while these pass. */
const MINUTES_AFTER = 2;
const ATTEMPTS = 200_000;

/** The code by itself, as the thread of the log runs it, over an hour of calls on the embedded store. */
export async function measureFigures(lab: Lab): Promise<FiguresSample[]> {
  const samples: FiguresSample[] = [];
  for (let round = 0; round < lab.lengths.rounds; round++)
    for (const mix of MIXES) {
      const folder = join(lab.folder, `figures-${mix}-${round}`);
      mkdirSync(folder, { recursive: true });
      const sample: FiguresSample = { mix, attempts: attempts(), ...(await hour(folder, mix)) };
      samples.push(sample);
      const [one, two, three] = [sample.attempts, sample.counted, sample.takenIn].map(short);
      lab.say(`figures round ${round + 1}, ${mix}: attempts ${one}, counted ${two}, taken in ${three} µs a call`);
    }
  return samples;
}

/** Its clock is that of the calls, which would take an hour otherwise. */
async function hour(folder: string, mix: Mix): Promise<Pick<FiguresSample, 'counted' | 'takenIn'>> {
  const clock = Date.now;
  const began = Math.floor(clock() / HOUR_MS) * HOUR_MS - 2 * HOUR_MS;
  let moment = began;
  Date.now = () => moment;
  try {
    const file = join(folder, 'logs.db');
    const sink = await openSqliteSink(file);
    const wait = waitingIn(file);
    const next = someEntries('organisation', { isAlike: mix === 'alike' });
    const pass = async (minutes: number) => {
      const total = { counted: 0, takenIn: 0 };
      for (let minute = 0; minute < minutes; minute++) {
        const begins = moment;
        const batches: LogBatch[] = [];
        for (; moment < begins + MINUTE_MS; moment += (1_000 * BATCH) / CALLS_A_SECOND)
          batches.push(batchOf(Array.from({ length: BATCH }, () => next(moment))));
        total.counted += cpuOf(() => wait(batches));
        total.takenIn += await cpuOfAll(async () => {
          while (await sink.tend());
        });
      }
      return total;
    };
    const turns: Awaited<ReturnType<typeof pass>>[] = [];
    for (let turn = 0; turn < TURNS; turn++) turns.push(await pass(TURN_MINUTES));
    const { takenIn: whenOver } = await pass(MINUTES_AFTER);
    await sink.close();
    const calmest = turns.reduce((one, other) => (sum(other) < sum(one) ? other : one));
    return {
      counted: calmest.counted / callsIn(TURN_MINUTES),
      takenIn: calmest.takenIn / callsIn(TURN_MINUTES) + whenOver / callsIn(HOUR_MINUTES),
    };
  } finally {
    Date.now = clock;
  }
}

const sum = ({ counted, takenIn }: Pick<FiguresSample, 'counted' | 'takenIn'>): number => counted + takenIn;
const callsIn = (minutes: number): number => (minutes * MINUTE_MS * CALLS_A_SECOND) / 1_000;

const batchOf = (rows: LogRow[]): LogBatch => ({
  rows,
  bodies: rows.map(() => null),
  columns: columnsOf(rows, LOG_COLUMNS),
});

/** Counts batches, and writes what was counted where it waits; their entries are in the same transaction in life, and not here. */
function waitingIn(file: string): (batches: readonly LogBatch[]) => void {
  const raw = new Database(file);
  const insert = raw.prepare('insert into analytics_waiting (facts) values (?)');
  const arrived = { added: null, earlier: [], later: [] };
  return raw.transaction((batches: readonly LogBatch[]) => {
    for (const batch of batches) insert.run(arrivalsOf(batch, USUAL_FIGURES.metadataKeys, arrived));
  });
}

const NO_PRICES: Prices = { priceOf: () => null, listedBy: () => [], costOf: () => null };

/** What a call of one attempt does about it; all else of its entry stays as it is. */
class Trail extends AttemptTrail {
  provider = 'openai';
  model = 'gpt-4.1-mini';
  virtualKey = 'bench';
  prices = null;
  usage = null;
  answeredBy = null;
  hookResults = null;
  isCached = false;
  readonly openedAt = Date.now();
  readonly openedMono = performance.now();
  readonly priceList = NO_PRICES;
  outgoingTrace = () => null;
  protected readTime = () => performance.now();
  pack = () => this.packAttempts({ status: 200, errorCode: null, usage: null, cost: null });
}

function attempts(): number {
  const [without, all] = [false, true].map((areTold) =>
    Math.min(...Array.from({ length: TURNS }, () => cpuOf(() => trails(areTold)))),
  );
  return (all! - without!) / ATTEMPTS;
}

function trails(areTold: boolean): number {
  let length = 0;
  for (let at = 0; at < ATTEMPTS; at++) {
    const trail = new Trail();
    if (!areTold) continue;
    trail.aims('config.targets[0]');
    trail.asks('http://127.0.0.1:4000/v1/chat/completions', null);
    trail.answered(200, null);
    length += trail.pack()!.length;
  }
  return length;
}

/** Microseconds, of all threads: what is garbage afterwards is collected by others. What was garbage before is none of it. */
function cpuOf(work: () => unknown): number {
  Bun.gc(true);
  const before = process.cpuUsage();
  work();
  return spent(before);
}

async function cpuOfAll(work: () => Promise<unknown>): Promise<number> {
  Bun.gc(true);
  const before = process.cpuUsage();
  await work();
  return spent(before);
}

function spent(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
