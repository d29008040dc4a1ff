import { join } from 'node:path';
import { type Contender, type ContenderName, contenderNames, labels, start as startContender } from '../contenders.ts';
import { onPostgres, spawnGateway } from '../gateway.ts';
import { type Lab, UNPINNED } from '../lab.ts';
import type { OpenLoopJob, OpenLoopResult } from '../load/job.ts';
import { short } from '../numbers.ts';
import { type Activity, ActivitySum, activityOf } from '../proc.ts';
import { chatRequest } from '../prompt.ts';
import { openPostgres, openRedis } from '../stores.ts';
import { costAtSaturation, inTurns } from './cost.ts';
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
  readonly who: Idle;
  /** Whether minutes have passed since the start; else one. */
  readonly isSettled: boolean;
  readonly cpuUs: number;
  readonly wakeUps: number;
}

/** As many calls as fit, with nothing pinned. */
export interface FullSample {
  readonly kind: 'full';
  readonly name: ContenderName;
  readonly cpuUs: number;
}

/** A process that has just started: what a call takes around its hundredth, and what it takes later. */
export interface ColdSample {
  readonly kind: 'cold';
  readonly name: (typeof coldNames)[number];
  readonly hundredthUs: number;
  readonly warmUs: number;
}

export type QuietSample = LowRateSample | IdleSample | FullSample | ColdSample;

export const RATES = [20, 100, 500] as const;
/** Processes that nobody calls: a bare relay, and a gateway on either store. */
export const idleOnes = ['bare', 'embedded', 'postgres'] as const;
export type Idle = (typeof idleOnes)[number];
/** What the gateway takes when it has just started, and what of that is Bun's. */
export const coldNames = ['bare', 'gateway'] as const;
/** After its start a process compiles, sweeps and gives memory back, and connections of its first visitors time out. */
const STARTED_AFTER_MS = 60_000;
const SETTLED_AFTER_MS = 240_000;
const SLICE_MS = 1_000;
const LOOK_EVERY_MS = 1_000;

/** Most installations are not busy: what a call costs then, and what it costs to wait for one. Nothing is pinned. */
export async function measureQuiet(lab: Lab): Promise<QuietSample[]> {
  const free: Lab = { ...lab, cores: UNPINNED };
  return [...(await measureIdle(free)), ...(await measureCold(free)), ...(await measureRates(free))];
}

/** All at once: none of them does enough to be in the way of the others. */
async function measureIdle(lab: Lab): Promise<IdleSample[]> {
  const postgres = await openPostgres(undefined);
  const redis = await openRedis(undefined);
  const environment = { ...onPostgres(await postgres.createDatabase()), REDIS_URL: redis.url };
  const processes = {
    bare: await startContender.bare(lab),
    embedded: (await spawnGateway(lab)).running,
    postgres: (await spawnGateway(lab, { environment })).running,
  };
  const startedAt = performance.now();
  const samples: IdleSample[] = [];
  for (const afterMs of [STARTED_AFTER_MS, SETTLED_AFTER_MS]) {
    await Bun.sleep(startedAt + afterMs - performance.now());
    for (let round = 0; round < lab.lengths.rounds; round++) {
      const seconds = lab.lengths.latencyCycles * 2;
      const measured = idleOnes.map(async (who): Promise<IdleSample> => {
        const { cpuUs, wakeUps } = await during(processes[who].pid, () => Bun.sleep(seconds * 1_000));
        lab.say(
          `quiet, idle, ${who} after ${afterMs / 1_000} s: ${short(wakeUps / seconds)} wake-ups and ` +
            `${short(cpuUs / seconds)} µs of CPU in a second`,
        );
        const isSettled = afterMs === SETTLED_AFTER_MS;
        return { kind: 'idle', who, isSettled, cpuUs: cpuUs / seconds, wakeUps: wakeUps / seconds };
      });
      samples.push(...(await Promise.all(measured)));
    }
  }
  for (const who of idleOnes) await processes[who].end();
  await redis.end();
  await postgres.end();
  return samples;
}

const COLD_RATE = 100;
/** The hundredth call with the forty around it: one alone is over before the kernel has counted it. */
const BEFORE_HUNDREDTH = 80;
const AROUND_HUNDREDTH = 40;

async function measureCold(lab: Lab): Promise<ColdSample[]> {
  const samples: ColdSample[] = [];
  for (let round = 0; round < lab.lengths.rounds; round++)
    for (const name of coldNames) {
      const contender = await startContender[name](lab);
      const cost = async (calls: number) => {
        let made = 0;
        const { cpuUs } = await during(contender.pid, async () => {
          made = await callAt(lab, contender, COLD_RATE, (calls * 1_000) / COLD_RATE, 1);
        });
        return cpuUs / made;
      };
      await cost(BEFORE_HUNDREDTH);
      const hundredthUs = await cost(AROUND_HUNDREDTH);
      await warmUp(lab, [contender]);
      const warmUs = await cost(AROUND_HUNDREDTH * 10);
      samples.push({ kind: 'cold', name, hundredthUs, warmUs });
      const said = `the hundredth call ${short(hundredthUs)} µs, a warm one ${short(warmUs)} µs`;
      lab.say(`quiet, cold, ${labels[name]}: ${said}`);
      await contender.end();
    }
  return samples;
}

async function measureRates(lab: Lab): Promise<(LowRateSample | FullSample)[]> {
  const contenders: Contender[] = [];
  for (const name of contenderNames) contenders.push(await startContender[name](lab));
  await warmUp(lab, contenders);
  const samples: (LowRateSample | FullSample)[] = [];
  for (const callsPerSecond of RATES)
    await inTurns(contenders, lab.lengths.rounds, async (contender, round) => {
      let calls = 0;
      const { cpuUs, wakeUps } = await during(contender.pid, async () => {
        calls = await callAt(lab, contender, callsPerSecond, SLICE_MS, lab.lengths.latencyCycles);
      });
      const sample = { kind: 'rate', name: contender.name, callsPerSecond, cpuUs: cpuUs / calls } as const;
      samples.push({ ...sample, wakeUps: wakeUps / calls });
      lab.say(
        `quiet at ${callsPerSecond}/s round ${round + 1}/${lab.lengths.rounds}, ${labels[contender.name]}: ` +
          `${short(sample.cpuUs)} µs and ${short(wakeUps / calls)} wake-ups a call`,
      );
    });
  const subjects = contenders.map((each) => ({ ...each, label: labels[each.name], body: chatRequest(300) }));
  await inTurns(subjects, lab.lengths.rounds, async (subject, round) => {
    const { microsecondsPerCall: cpuUs } = await costAtSaturation(lab, subject, lab.lengths.saturationMs);
    samples.push({ kind: 'full', name: subject.name, cpuUs });
    lab.say(`quiet, full round ${round + 1}/${lab.lengths.rounds}, ${subject.label}: ${short(cpuUs)} µs a call`);
  });
  await Promise.all(contenders.map((contender) => contender.end()));
  return samples;
}

/** Answers how many calls were made. */
async function callAt(
  lab: Lab,
  { name, url, headers }: Contender,
  callsPerSecond: number,
  sliceMs: number,
  cycles: number,
): Promise<number> {
  const job: OpenLoopJob = {
    arms: [{ name, url, headers }],
    ...{ body: chatRequest(300), callsPerSecond, sliceMs, cycles, rounds: 1 },
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
  const sum = new ActivitySum(activityOf(pid));
  // A compiler's thread lives for seconds: what it did is seen only while it is there.
  const looking = setInterval(() => sum.look(activityOf(pid)), LOOK_EVERY_MS);
  await work().finally(() => clearInterval(looking));
  return sum.look(activityOf(pid));
}
