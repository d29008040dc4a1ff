import { join } from 'node:path';
import { type Contender, type ContenderName, labels, start as startContender } from '../contenders.ts';
import { spawnGateway } from '../gateway.ts';
import { type Lab, UNPINNED } from '../lab.ts';
import type { OpenLoopJob, OpenLoopResult } from '../load/job.ts';
import { short } from '../numbers.ts';
import { type Activity, activityOf } from '../proc.ts';
import { chatRequest } from '../prompt.ts';
import { inTurns } from './cost.ts';
import { warmUp } from './cpu.ts';

/** CPU and wake-ups of all threads for each call, at a rate that leaves the proxy idle for most of the time. */
export interface LowRateSample {
  readonly kind: 'rate';
  readonly name: ContenderName;
  readonly callsPerSecond: number;
  readonly cpuUs: number;
  readonly wakeUps: number;
}

/** A process that nobody calls, in one second. */
export interface IdleSample {
  readonly kind: 'idle';
  readonly cpuUs: number;
  readonly wakeUps: number;
}

export type QuietSample = LowRateSample | IdleSample;

export const RATES = [20, 100, 500] as const;
const NAMES = ['nginx', 'gateway', 'portkey'] as const satisfies ContenderName[];
/** After its start a process compiles, sweeps and gives memory back for a while. */
const SETTLED_AFTER_MS = 60_000;
const SLICE_MS = 1_000;

/** Most installations are not busy: what a call costs then, and what it costs to wait for one. Nothing is pinned. */
export async function measureQuiet(lab: Lab): Promise<QuietSample[]> {
  const free: Lab = { ...lab, cores: UNPINNED };
  return [...(await measureIdle(free)), ...(await measureRates(free))];
}

async function measureIdle(lab: Lab): Promise<IdleSample[]> {
  const { running } = await spawnGateway(lab);
  await Bun.sleep(SETTLED_AFTER_MS);
  const samples: IdleSample[] = [];
  for (let round = 0; round < lab.lengths.rounds; round++) {
    const seconds = lab.lengths.latencyCycles * 2;
    const { cpuUs, wakeUps } = await during(running.pid, () => Bun.sleep(seconds * 1_000));
    samples.push({ kind: 'idle', cpuUs: cpuUs / seconds, wakeUps: wakeUps / seconds });
    lab.say(`quiet, idle: ${short(wakeUps / seconds)} wake-ups and ${short(cpuUs / seconds)} µs of CPU in a second`);
  }
  await running.end();
  return samples;
}

async function measureRates(lab: Lab): Promise<LowRateSample[]> {
  const contenders: Contender[] = [];
  for (const name of NAMES) contenders.push(await startContender[name](lab));
  await warmUp(lab, contenders);
  const samples: LowRateSample[] = [];
  for (const callsPerSecond of RATES)
    await inTurns(contenders, lab.lengths.rounds, async (contender, round) => {
      let calls = 0;
      const { cpuUs, wakeUps } = await during(contender.pid, async () => {
        calls = await callAt(lab, contender, callsPerSecond);
      });
      const sample = { kind: 'rate', name: contender.name, callsPerSecond, cpuUs: cpuUs / calls } as const;
      samples.push({ ...sample, wakeUps: wakeUps / calls });
      lab.say(
        `quiet at ${callsPerSecond}/s round ${round + 1}/${lab.lengths.rounds}, ${labels[contender.name]}: ` +
          `${short(sample.cpuUs)} µs and ${short(wakeUps / calls)} wake-ups a call`,
      );
    });
  await Promise.all(contenders.map((contender) => contender.end()));
  return samples;
}

/** Answers how many calls were made. */
async function callAt(lab: Lab, { name, url, headers }: Contender, callsPerSecond: number): Promise<number> {
  const job: OpenLoopJob = {
    arms: [{ name, url, headers }],
    ...{ body: chatRequest(300), callsPerSecond, sliceMs: SLICE_MS, cycles: lab.lengths.latencyCycles, rounds: 1 },
    isAlone: false,
  };
  const generator = lab.processes.converse(join(import.meta.dir, '../load/open-loop.ts'), job, lab.cores.load);
  const { arms } = await generator.next<OpenLoopResult>(120_000);
  await generator.close();
  const [arm] = arms;
  if (arm!.failed > 0) lab.note(`${labels[name]}: ${arm!.failed} calls failed at ${callsPerSecond} calls/s.`);
  return arm!.calls.length;
}

async function during(pid: number, work: () => Promise<unknown>): Promise<Activity> {
  const before = activityOf(pid);
  await work();
  const after = activityOf(pid);
  return { cpuUs: after.cpuUs - before.cpuUs, wakeUps: after.wakeUps - before.wakeUps };
}
