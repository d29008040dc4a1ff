import { join } from 'node:path';
import { type Contender, direct, labels } from '../contenders.ts';
import type { Lab, SizeLabel } from '../lab.ts';
import { sizes } from '../lab.ts';
import type { OpenLoopJob, OpenLoopResult, Percentiles } from '../load/job.ts';
import { saturate } from '../load/wrk.ts';
import { short } from '../numbers.ts';
import { chatRequest } from '../prompt.ts';
import { warmUp } from './cpu.ts';

export interface LatencySample {
  readonly name: Contender['name'];
  readonly size: SizeLabel;
  readonly round: number;
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
const SLICE_MS = 500;

export async function measureLatency(lab: Lab, contenders: readonly Contender[]): Promise<LatencySample[]> {
  await warmUp(lab, contenders);
  const samples: LatencySample[] = [];
  const wakers = lab.processes.keepAwake(lab.cores);
  for (const size of sizes) {
    const body = chatRequest(size.bytes);
    const groups = new Map<number, Contender[]>();
    for (const contender of contenders) {
      const rate = await bearableRate(lab, contender, body);
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
async function bearableRate(lab: Lab, contender: Contender, body: string): Promise<number> {
  const { calls, ms } = await saturate(lab, contender, body, 1_000);
  const most = (calls * 1_000) / ms;
  return most * 0.8 >= RATE ? RATE : Math.max(10, Math.floor((most * 0.6) / 10) * 10);
}

async function compare(lab: Lab, size: SizeLabel, body: string, rate: number, group: Contender[]) {
  const { rounds, latencyCycles: cycles } = lab.lengths;
  const arms = [{ name: 'direct', ...direct(lab) }, ...group.map(({ name, url, headers }) => ({ name, url, headers }))];
  const isAlone = lab.cores.load !== lab.cores.proxy;
  const job: OpenLoopJob = { arms, body, callsPerSecond: rate, sliceMs: SLICE_MS, cycles, rounds, isAlone };
  const generator = lab.processes.converse(join(import.meta.dir, '../load/open-loop.ts'), job, lab.cores.load);
  const { arms: results, lag } = await generator.next<OpenLoopResult>(300_000);
  await generator.close();

  return results.flatMap(({ name, round, failed, all, undisturbed }): LatencySample[] => {
    const contender = group.find((one) => one.name === name);
    if (!contender) return [];
    const label = labels[contender.name];
    const base = results.find((other) => other.name === 'direct' && other.round === round)!;
    const isQuiet = undisturbed !== null && base.undisturbed !== null;
    const through: Percentiles = isQuiet ? undisturbed : all;
    const straight: Percentiles = isQuiet ? base.undisturbed : base.all;
    const sample: LatencySample = {
      name: contender.name,
      size,
      round,
      callsPerSecond: rate,
      addedP50: through.p50 - straight.p50,
      addedP99: through.p99 - straight.p99,
      addedP99WithStalls: all.p99 - base.all.p99,
      directP50: straight.p50,
      directP99: straight.p99,
      leftOut: 1 - through.calls / all.calls,
      generatorLagP99: lag.p99,
    };
    if (failed > 0) lab.note(`${label}: ${failed} calls failed at ${rate} calls/s, ${size}.`);
    lab.say(
      `latency ${size} at ${rate}/s round ${round + 1}/${rounds}, ${label}: adds ${short(sample.addedP50)} ms p50, ` +
        `${short(sample.addedP99)} ms p99 (${through.calls} calls, ${Math.round(sample.leftOut * 100)} % left out)`,
    );
    return [sample];
  });
}
