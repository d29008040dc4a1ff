import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import type { Health } from '../core/health.ts';
import type { Sweeper } from '../core/sweeper.ts';
import { lockStage } from './stage.ts';

/** How an attempt ended: older backups that could not be deleted are no reason to make another one. */
export type Outcome = 'made' | 'made_not_tidy' | 'failed';

export interface ScheduleOptions {
  readonly everyMs: number;
  readonly dataDir: string;
  readonly health: Health;
  readonly now: Clock;
  /** When the newest whole backup was begun; null: there is none. */
  readonly newest: () => Promise<number | null>;
  /** Makes one. It ends early when the signal says so. */
  readonly make: (signal: AbortSignal) => Promise<Outcome>;
  readonly onOutcome: (outcome: Outcome) => void;
  readonly onNewest: (at: number | null) => void;
  readonly report: (problem: string) => void;
}

/** Attempts since the last whole backup, and when the last of them began. They outlive the process. */
interface Attempts {
  readonly failures: number;
  readonly at: number;
}

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 3_600_000;
/** Timers end at 24 days, and a clock may be set. */
const LONGEST_SLEEP_MS = 600_000;
const FAILING = 'The embedded store is not being backed up: the last attempt failed, and it is tried again.';
const NOT_TIDY = 'Backups are made, but older ones cannot be deleted from their bucket.';

/**
 * Makes a backup whenever the newest in the bucket is old enough. What is due is read from the bucket, and failures from
 * the data dir, so that a process that is started again and again makes no more of them.
 */
export function startSchedule(options: ScheduleOptions): Sweeper {
  const { everyMs, dataDir, health, now, newest, make, onOutcome, onNewest, report } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const file = join(dataDir, 'backup-attempts.json');

  let isTidy = true;
  /** A bucket may show what was put into it a while later. */
  let madeAt = Number.NEGATIVE_INFINITY;
  let inVain = 0;

  const begin = () => writeFileSync(file, JSON.stringify({ failures: attemptsIn(file).failures + 1, at: now() }));

  /** How long until it has to look again. */
  const look = async (): Promise<number> => {
    const { failures, at } = attemptsIn(file);
    const pause = failures === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, everyMs, FIRST_PAUSE_MS * 2 ** (failures - 1));
    const since = now() - at;
    // An attempt in the future is of a clock that was wrong.
    if (since >= 0 && since < pause) return pause - since;
    const last = await newest();
    onNewest(last);
    inVain = 0;
    const age = now() - Math.max(madeAt, last ?? Number.NEGATIVE_INFINITY);
    if (age < everyMs) {
      rmSync(file, { force: true });
      if (isTidy) health.well('backup');
      return everyMs - age;
    }
    begin();
    const begunAt = now();
    const outcome = await make(signal);
    if (signal.aborted) return 0;
    onOutcome(outcome);
    if (outcome === 'failed') throw new Error('the backup was not made');
    rmSync(file, { force: true });
    madeAt = begunAt;
    isTidy = outcome === 'made';
    if (!isTidy) health.degraded('backup', NOT_TIDY);
    return 0;
  };

  const run = async () => {
    // What a backup left that was killed together with the process before.
    lockStage(dataDir)?.release();
    if (attemptsIn(file).failures > 0) health.degraded('backup', FAILING);
    while (!signal.aborted) {
      let waitMs: number;
      try {
        waitMs = await look();
      } catch (error) {
        if (signal.aborted) return;
        health.degraded('backup', FAILING);
        report(error instanceof Error ? error.message : String(error));
        waitMs = FIRST_PAUSE_MS * 2 ** Math.min(inVain++, 10);
      }
      await sleep(Math.min(waitMs, LONGEST_SLEEP_MS), signal);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopping.abort();
      await running;
      lockStage(dataDir)?.release();
    },
  };
}

function attemptsIn(file: string): Attempts {
  try {
    const { failures, at } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Attempts>;
    return Number.isSafeInteger(failures) && Number.isSafeInteger(at) ? { failures: failures!, at: at! } : NONE;
  } catch {
    return NONE;
  }
}

const NONE: Attempts = { failures: 0, at: 0 };

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  timer.unref?.();
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
