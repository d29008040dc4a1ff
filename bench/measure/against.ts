import { spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import { saturate } from '../load/wrk.ts';
import { short } from '../numbers.ts';
import { costsInTurns } from './cost.ts';
import { type Arm, costOfPath, layPaths, type PathName, provePath } from './paths.ts';

/** The way that most calls go, the same with much to read, the dearest of the plain ones, and a stream. */
const COMPARED: readonly PathName[] = ['identity', 'large', 'translated', 'streamed'];
/** What compilers and memory make of a process differs from start to start by more than a change may cost. */
const STARTS = 5;
const TURNS = 4;

export interface AgainstSample {
  readonly path: PathName;
  /** Microseconds per call of this checkout and of the other. */
  readonly own: number;
  readonly other: number;
}

interface Side extends Arm {
  readonly isOwn: boolean;
}

/** Two checkouts, started several times, take turns at the same calls. */
export async function measureAgainst(lab: Lab, other: Lab['gateway']): Promise<AgainstSample[]> {
  const samples: AgainstSample[] = [];
  for (let start = 1; start <= STARTS; start++) {
    const [one, two] = [await open(lab, true), await open({ ...lab, gateway: other }, false)];
    const costs = await costsInTurns([...one.sides, ...two.sides], TURNS, (side) => costOfPath(lab, side));
    const costOf = (path: PathName, isOwn: boolean) =>
      costs.find(([side]) => side.path === path && side.isOwn === isOwn)![1].microsecondsPerCall;
    for (const path of COMPARED) {
      const sample = { path, own: costOf(path, true), other: costOf(path, false) };
      samples.push(sample);
      const ratio = (sample.own / sample.other).toFixed(3);
      lab.say(
        `against, start ${start}/${STARTS}, ${path}: ${short(sample.own)} / ${short(sample.other)} µs = ${ratio}`,
      );
    }
    await Promise.all([one.end(), two.end()]);
  }
  return samples;
}

async function open(lab: Lab, isOwn: boolean) {
  const { origin, running } = await spawnGateway(lab, { core: lab.cores.proxy });
  const arms = (await layPaths(lab, origin, running.pid)).filter(({ path }) => COMPARED.includes(path));
  for (const arm of arms) {
    await provePath(arm);
    if (arm.path === 'streamed') await costOfPath(lab, arm);
    else await saturate(lab, arm, arm.body, 2 * lab.lengths.sliceWarmUpMs);
  }
  return { sides: arms.map((arm): Side => ({ ...arm, isOwn })), end: running.end };
}
