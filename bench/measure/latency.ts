import { join } from 'node:path';
import { type Contender, direct, labels } from '../contenders.ts';
import type { Lab, SizeLabel } from '../lab.ts';
import { sizes } from '../lab.ts';
import type { OpenLoopJob, OpenLoopResult } from '../load/job.ts';
import { saturate } from '../load/wrk.ts';
import { median, short } from '../numbers.ts';
import { chatRequest } from '../prompt.ts';
import { type CpuSample, warmUp } from './cpu.ts';
import { type PaceWatch, watchPace } from './pace.ts';
import { measured } from './undisturbed.ts';

export interface LatencySample {
  readonly name: Contender['name'];
  readonly size: SizeLabel;
  /** The rate of the comparison, and the one at which calls were made: less where the proxy cannot do so many. */
  readonly wanted: Rate;
  readonly callsPerSecond: number;
  readonly addedP50: number;
  readonly addedP99: number;
  /** The same with the calls that were under way while the machine stood still or was slow. */
  readonly addedP99WithStalls: number;
  readonly directP50: number;
  readonly directP99: number;
  /** Share of the calls that were left out for that reason. */
  readonly leftOut: number;
  readonly generatorLagP99: number;
}

/** What a busy gateway has to do, and what most have. */
export const RATES = [500, 100] as const;
export type Rate = (typeof RATES)[number];

/** `cpu` says what each proxy can do at most, where that was measured. */
export async function measureLatency(
  lab: Lab,
  contenders: readonly Contender[],
  cpu: readonly CpuSample[] = [],
): Promise<LatencySample[]> {
  await warmUp(lab, contenders);
  const samples: LatencySample[] = [];
  const wakers = lab.processes.keepAwake(lab.cores);
  const pace = watchPace(lab);
  for (const size of sizes) {
    const body = chatRequest(size.bytes);
    const most = new Map<Contender, number>();
    for (const contender of contenders) {
      const known = cpu.filter((one) => one.name === contender.name && one.size === size.label);
      most.set(
        contender,
        known.length > 0 ? median(known.map((one) => one.callsPerSecond)) : await capacity(lab, contender, body),
      );
    }
    for (const wanted of RATES) {
      const groups = new Map<number, Contender[]>();
      for (const contender of contenders) {
        const rate = bearableRate(wanted, most.get(contender)!);
        if (rate < wanted)
          lab.note(
            `${labels[contender.name]} cannot hold ${wanted} calls/s of ${size.label}; its latency is taken at ${rate} calls/s.`,
          );
        groups.set(rate, [...(groups.get(rate) ?? []), contender]);
      }
      for (const [rate, group] of groups)
        samples.push(...(await compare(lab, pace, { size: size.label, wanted, rate }, body, group)));
    }
  }
  await Promise.all([pace.end(), ...wakers.map((waker) => waker.end())]);
  return samples;
}

/** The rate of the comparison, or 60 % of what the proxy can do where that is less. */
function bearableRate(wanted: Rate, most: number): number {
  return most * 0.8 >= wanted ? wanted : Math.max(10, Math.floor((most * 0.6) / 10) * 10);
}

async function capacity(lab: Lab, contender: Contender, body: string): Promise<number> {
  const { calls, ms } = await saturate(lab, contender, body, 2_000);
  return (calls * 1_000) / ms;
}

async function compare(lab: Lab, pace: PaceWatch, setting: Setting, body: string, group: Contender[]) {
  const { size, rate } = setting;
  const { rounds, latencySliceMs: sliceMs, latencyCycles: cycles } = lab.lengths;
  const arms = [{ name: 'direct', ...direct(lab) }, ...group.map(({ name, url, headers }) => ({ name, url, headers }))];
  const isAlone = lab.cores.load !== lab.cores.proxy;
  const job: OpenLoopJob = { arms, body, callsPerSecond: rate, sliceMs, cycles, rounds, isAlone };
  const generator = lab.processes.converse(join(import.meta.dir, '../load/open-loop.ts'), job, lab.cores.load);
  const samples: LatencySample[] = [];
  for (let round = 0; round < rounds; round++) {
    const result = await generator.next<OpenLoopResult>(120_000);
    const disturbed = [...result.stalls, ...pace.slow];
    for (const contender of group) {
      const sample = added(lab, contender, setting, { ...result, round, stalls: disturbed });
      samples.push(sample);
      lab.say(
        `latency ${size} at ${rate}/s round ${round + 1}/${rounds}, ${labels[contender.name]}: ` +
          `adds ${short(sample.addedP50)} ms p50, ${short(sample.addedP99)} ms p99`,
      );
    }
  }
  await generator.close();
  return samples;
}

interface Setting {
  readonly size: SizeLabel;
  readonly wanted: Rate;
  readonly rate: number;
}

interface Round extends OpenLoopResult {
  readonly round: number;
}

function added(lab: Lab, contender: Contender, { size, wanted, rate }: Setting, { arms, stalls, lag, round }: Round) {
  const arm = arms.find((one) => one.name === contender.name)!;
  if (arm.failed > 0) {
    lab.note(`${labels[contender.name]}: ${arm.failed} calls failed at ${rate} calls/s, ${size}, round ${round + 1}.`);
  }
  const straight = measured(arms.find((one) => one.name === 'direct')!.calls, stalls);
  const through = measured(arm.calls, stalls);
  return {
    name: contender.name,
    size,
    wanted,
    callsPerSecond: rate,
    addedP50: through.undisturbed.p50 - straight.undisturbed.p50,
    addedP99: through.undisturbed.p99 - straight.undisturbed.p99,
    addedP99WithStalls: through.all.p99 - straight.all.p99,
    directP50: straight.undisturbed.p50,
    directP99: straight.undisturbed.p99,
    leftOut: 1 - through.undisturbed.calls / through.all.calls,
    generatorLagP99: lag.p99,
  } satisfies LatencySample;
}
