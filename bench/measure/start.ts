import { join } from 'node:path';
import { spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import { short } from '../numbers.ts';

export interface StartSample {
  /** On an empty data folder: the store is created, keys are made. */
  readonly firstMs: readonly number[];
  /** On the data folder of an earlier start. */
  readonly againMs: readonly number[];
}

export async function measureStart(lab: Lab): Promise<StartSample> {
  const firstMs: number[] = [];
  const againMs: number[] = [];
  for (let round = 0; round < lab.lengths.starts; round++) {
    const dataFolder = join(lab.folder, `start-${round}`);
    for (const times of [firstMs, againMs]) {
      const { running, readyAfterMs } = await spawnGateway(lab, { dataFolder });
      await running.end();
      times.push(readyAfterMs);
    }
    lab.say(
      `start ${round + 1}/${lab.lengths.starts}: first ${short(firstMs.at(-1)!)} ms, again ${short(againMs.at(-1)!)} ms`,
    );
  }
  return { firstMs, againMs };
}
