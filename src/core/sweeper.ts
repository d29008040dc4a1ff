import { GatewayError } from './errors.ts';
import { isQuiet, onWakeUp, wholeSecond } from './runtime/seconds.ts';

export interface Sweeper {
  /** Resolves when a sweep under way is over. */
  stop(): Promise<void>;
}

export interface SweeperOptions {
  /** What is swept. A report of a failure names it to the operator. */
  readonly what: string;
  /** From the end of a sweep to the next. */
  readonly everyMs: number;
  /** The same while no caller asks anything of this process. As usual unless given. */
  readonly quietMs?: number;
  /** Given the signal, it ends at the next convenient place; the next one goes on there. */
  readonly sweep: (signal: AbortSignal) => Promise<unknown>;
  readonly report?: (problem: string) => void;
}

/** A sooner sweep comes at a moment of its own. */
const TOGETHER_FROM_MS = 10_000;

/** Sweeps now and then, for as long as the process lives. */
export function startSweeper({
  what,
  everyMs,
  quietMs = everyMs,
  sweep,
  report = toStderr(what),
}: SweeperOptions): Sweeper {
  const stopping = new AbortController();
  const { signal } = stopping;
  let sweeping: Promise<void> = Promise.resolve();
  let isSweeping = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let dueAt = 0;

  const sweepOnce = async () => {
    try {
      await sweep(signal);
    } catch (error) {
      // A store that is away is reported where it is watched; the next sweep does what this one did not.
      if (!(error instanceof GatewayError)) report(error instanceof Error ? error.message : String(error));
    }
    isSweeping = false;
    later(isQuiet() ? quietMs : everyMs);
  };
  const later = (ms: number) => {
    if (signal.aborted) return;
    const now = performance.now();
    // Together with what else this process does then.
    dueAt = ms < TOGETHER_FROM_MS ? now + ms : wholeSecond(now + ms, ms);
    timer = setTimeout(() => {
      isSweeping = true;
      sweeping = sweepOnce();
    }, dueAt - now);
    timer.unref?.();
  };
  const stopWaking = onWakeUp(() => {
    if (isSweeping || dueAt <= performance.now() + everyMs) return;
    clearTimeout(timer);
    later(everyMs);
  });
  later(everyMs);
  return {
    stop: async () => {
      stopping.abort();
      stopWaking();
      clearTimeout(timer);
      await sweeping;
    },
  };
}

const toStderr = (what: string) => (problem: string) =>
  void process.stderr.write(`${what}: sweeping failed: ${problem}\n`);
