import { join } from 'node:path';
import { type Contender, direct, labels } from '../contenders.ts';
import type { Lab, SizeLabel } from '../lab.ts';
import { sizes } from '../lab.ts';
import type { OpenLoopJob, OpenLoopResult, Percentiles } from '../load/job.ts';
import { saturate } from '../load/wrk.ts';
import { median, short } from '../numbers.ts';
import { chatRequest } from '../prompt.ts';
import { type CpuSample, warmUp } from './cpu.ts';

export interface LatencySample {
  readonly name: Contender['name'];
  readonly size: SizeLabel;
  readonly callsPerSecond: number;
  readonly addedP50: number;
  readonly addedP99: number;
  /** The same with the calls that were under way while the machine stood still. */
  readonly addedP99WithStalls: number;
  readonly directP50: number;
  readonly directP99: number;
  /** Share of the calls that were left out for that reason. */
  readonly leftOut: number;
  readonly generatorLagP99: number;
}

export const RATE = 500;

/** `cpu` says what each proxy can do at most, where that was measured. */
export async function measureLatency(
  lab: Lab,
  contenders: readonly Contender[],
  cpu: readonly CpuSample[] = [],
): Promise<LatencySample[]> {
  await warmUp(lab, contenders);
  const samples: LatencySample[] = [];
  const wakers = lab.processes.keepAwake(lab.cores);
  for (const size of sizes) {
    const body = chatRequest(size.bytes);
    const groups = new Map<number, Contender[]>();
    for (const contender of contenders) {
      const known = cpu.filter((one) => one.name === contender.name && one.size === size.label);
      const most =
        known.length > 0 ? median(known.map((one) => one.callsPerSecond)) : await capacity(lab, contender, body);
      const rate = bearableRate(most);
      if (rate < RATE) {
        lab.note(
          `${labels[contender.name]} cannot hold ${RATE} calls/s of ${size.label}; its latency is taken at ${rate} calls/s.`,
        );
      }
      groups.set(rate, [...(groups.get(rate) ?? []), contender]);
    }
    for (const [rate, group] of groups) samples.push(...(await compare(lab, size.label, body, rate, group)));
  }
  await Promise.all(wakers.map((waker) => waker.end()));
  return samples;
}

/** The rate of the comparison, or 60 % of what the proxy can do where that is less. */
function bearableRate(most: number): number {
  return most * 0.8 >= RATE ? RATE : Math.max(10, Math.floor((most * 0.6) / 10) * 10);
}

async function capacity(lab: Lab, contender: Contender, body: string): Promise<number> {
  const { calls, ms } = await saturate(lab, contender, body, 2_000);
  return (calls * 1_000) / ms;
}

async function compare(lab: Lab, size: SizeLabel, body: string, rate: number, group: Contender[]) {
  const { rounds, latencySliceMs: sliceMs, latencyCycles: cycles } = lab.lengths;
  const arms = [{ name: 'direct', ...direct(lab) }, ...group.map(({ name, url, headers }) => ({ name, url, headers }))];
  const isAlone = lab.cores.load !== lab.cores.proxy;
  const job: OpenLoopJob = { arms, body, callsPerSecond: rate, sliceMs, cycles, rounds, isAlone };
  const generator = lab.processes.converse(join(import.meta.dir, '../load/open-loop.ts'), job, lab.cores.load);
  const samples: LatencySample[] = [];
  for (let round = 0; round < rounds; round++) {
    const result = await generator.next<OpenLoopResult>(120_000);
    for (const contender of group) {
      const sample = added(lab, contender, { size, rate, round }, result);
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
  readonly rate: number;
  readonly round: number;
}

function added(lab: Lab, contender: Contender, { size, rate, round }: Setting, result: OpenLoopResult): LatencySample {
  const direct = result.arms.find((arm) => arm.name === 'direct')!;
  const arm = result.arms.find((one) => one.name === contender.name)!;
  if (arm.failed > 0) {
    lab.note(`${labels[contender.name]}: ${arm.failed} calls failed at ${rate} calls/s, ${size}, round ${round + 1}.`);
  }
  const isQuiet = arm.undisturbed !== null && direct.undisturbed !== null;
  const through: Percentiles = isQuiet ? arm.undisturbed! : arm.all;
  const straight: Percentiles = isQuiet ? direct.undisturbed! : direct.all;
  return {
    name: contender.name,
    size,
    callsPerSecond: rate,
    addedP50: through.p50 - straight.p50,
    addedP99: through.p99 - straight.p99,
    addedP99WithStalls: arm.all.p99 - direct.all.p99,
    directP50: straight.p50,
    directP99: straight.p99,
    leftOut: 1 - through.calls / arm.all.calls,
    generatorLagP99: result.lag.p99,
  };
}
