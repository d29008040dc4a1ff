import { SELDOM_SECONDS } from '../../../core/runtime/seconds.ts';
import { type Sweeper, startSweeper } from '../../../core/sweeper.ts';
import { type SweepDeps, sweepChunks } from './sweep.ts';

const EVERY_MS = 30_000;

/** Removes chunks that no search can find. */
export const startChunkSweeper = (deps: Pick<SweepDeps, 'store' | 'chunks'>): Sweeper =>
  startSweeper({
    what: 'vector stores',
    everyMs: EVERY_MS,
    quietMs: SELDOM_SECONDS * 1_000,
    sweep: (signal) => sweepChunks({ ...deps, now: Date.now, signal }),
  });
