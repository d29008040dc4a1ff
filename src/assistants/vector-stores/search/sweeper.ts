import { GatewayError } from '../../../core/errors.ts';
import { type SweepDeps, sweepChunks } from './sweep.ts';

export interface ChunkSweeperOptions extends Omit<SweepDeps, 'signal' | 'now'> {
  readonly everyMs?: number;
  readonly now?: () => number;
  readonly report?: (problem: string) => void;
}

const EVERY_MS = 30_000;

/** Sweeps now and then, for as long as the process lives. */
export function startChunkSweeper({
  everyMs = EVERY_MS,
  report = toStderr,
  now = Date.now,
  ...deps
}: ChunkSweeperOptions) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let sweeping: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const sweep = async () => {
    try {
      await sweepChunks({ ...deps, now, signal });
    } catch (error) {
      // A store that is away is reported where it is watched; the next sweep does what this one did not.
      if (!(error instanceof GatewayError)) report(error instanceof Error ? error.message : String(error));
    }
    later();
  };
  const later = () => {
    if (signal.aborted) return;
    timer = setTimeout(() => {
      sweeping = sweep();
    }, everyMs);
    timer.unref?.();
  };
  later();
  return {
    stop: async () => {
      stopping.abort();
      clearTimeout(timer);
      await sweeping;
    },
  };
}

const toStderr = (problem: string) => void process.stderr.write(`vector stores: sweeping failed: ${problem}\n`);
