import { type Sweeper, startSweeper } from '../core/sweeper.ts';
import type { ResponseStore } from './responses-store.ts';

const EVERY_MS = 3_600_000;

/** Removes responses that have expired. */
export const startResponsesSweeper = ({ sweep }: Pick<ResponseStore, 'sweep'>): Sweeper =>
  startSweeper({ what: 'responses', everyMs: EVERY_MS, sweep });
