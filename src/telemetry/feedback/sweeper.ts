import { type Sweeper, startSweeper } from '../../core/sweeper.ts';
import type { Feedback } from './feedback.ts';

const EVERY_MS = 3_600_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

export interface FeedbackSweeperOptions extends Pick<Feedback, 'sweep'> {
  /** As long as entries of the request log. */
  readonly retentionDays: number;
  readonly now: () => number;
}

/** Removes feedback that is older than what the request log keeps. */
export const startFeedbackSweeper = ({ sweep, retentionDays, now }: FeedbackSweeperOptions): Sweeper =>
  startSweeper({
    what: 'feedback',
    everyMs: EVERY_MS,
    sweep: (signal) => sweep(now() - retentionDays * DAY_MS, signal),
  });
