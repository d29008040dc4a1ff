import { join } from 'node:path';

export interface Delay {
  readonly worstMs: number;
  readonly p99Ms: number;
}

/** Asks for `/health` every 10 ms, in a process of its own, until it is stopped. */
export function watchDelay(url: string) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'delay-probe.ts'), url], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let stopped: Promise<Delay> | null = null;
  const stop = async (): Promise<Delay> => {
    child.stdin.end();
    return JSON.parse(await child.stdout.text()) as Delay;
  };
  return {
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}
