import { GatewayError } from '../core/errors.ts';
import type { ResponseStore } from './responses-store.ts';

export interface ResponsesSweeper {
  /** Resolves when a sweep under way is over. */
  stop(): Promise<void>;
}

const EVERY_MS = 3_600_000;

/** Removes responses that have expired, now and then, for as long as the process lives. */
export function startResponsesSweeper(
  { sweep }: Pick<ResponseStore, 'sweep'>,
  { everyMs = EVERY_MS, report = toStderr }: { everyMs?: number; report?: (problem: string) => void } = {},
): ResponsesSweeper {
  const stopping = new AbortController();
  let sweeping: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    // A store that is away is reported where it is watched; the next sweep does what this one did not.
    sweeping = sweeping
      .then(() => sweep(stopping.signal))
      .catch((error: unknown) => {
        if (!(error instanceof GatewayError)) report(error instanceof Error ? error.message : String(error));
      });
  }, everyMs);
  timer.unref();
  return {
    stop: async () => {
      stopping.abort();
      clearInterval(timer);
      await sweeping;
    },
  };
}

const toStderr = (problem: string) => void process.stderr.write(`responses: sweeping failed: ${problem}\n`);
