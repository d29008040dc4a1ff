import type { Lab } from '../lab.ts';
import type { Target } from '../load/job.ts';
import { saturate } from '../load/wrk.ts';
import { short } from '../numbers.ts';
import { cpuMsOf, machineCpuMs } from '../proc.ts';
import { takeMemoryBack } from './memory-at-hand.ts';

/** What is measured under one name: where calls go, what they ask, and whose CPU time pays for them. */
export interface Subject extends Target {
  readonly label: string;
  readonly body: string;
  readonly pid: number;
}

export interface Cost {
  readonly microsecondsPerCall: number;
  readonly callsPerSecond: number;
  /** Share of one core that the proxy used while the load lasted; below 1 the load or the upstream was the limit. */
  readonly busy: number;
  /** What the host of a virtual machine took meanwhile, in cores. */
  readonly stolen: number;
}

/** CPU per call while as many calls as fit are made. */
export async function costAtSaturation(lab: Lab, subject: Subject, ms: number): Promise<Cost> {
  const { label, body, pid } = subject;
  await untilCalm(pid);
  takeMemoryBack(lab, subject, ms);
  const before = cpuMsOf(pid);
  const stolenBefore = machineCpuMs().stolen;
  const { calls, failed, ms: tookMs } = await saturate(lab, subject, body, ms);
  const during = cpuMsOf(pid) - before;
  const stolenMs = machineCpuMs().stolen - stolenBefore;
  // What it does after the last answer (writing its log, say) is part of the price.
  const isCalm = await untilCalm(pid);
  const microsecondsPerCall = ((cpuMsOf(pid) - before) * 1_000) / calls;
  if (failed > 0) lab.note(`${label}: ${failed} of ${calls} calls failed at saturation.`);
  if (!isCalm) lab.note(`${label}: the proxy was still busy 10 s after the load had ended.`);
  return {
    microsecondsPerCall,
    callsPerSecond: (calls * 1_000) / tookMs,
    busy: during / tookMs,
    stolen: stolenMs / tookMs,
  };
}

/** A host that takes more than this is busy, and then slows down what it leaves as well: code that fills caches most. */
const MOST_STOLEN = 0.01;
const MOST_TRIES = 6;

/** A turn, taken again while the host disturbs it. Whose turn it is, and what comes out, has no say in that. */
export async function undisturbed(take: () => Promise<Cost>): Promise<Cost> {
  let calmest = await take();
  for (let tries = 1; tries < MOST_TRIES && calmest.stolen > MOST_STOLEN; tries++) {
    const again = await take();
    if (again.stolen < calmest.stolen) calmest = again;
  }
  return calmest;
}

/**
 * What each of them costs in a round of short turns: a machine whose speed changes from second to second is then slow for
 * all of them alike.
 */
export async function costsInTurns<One extends Subject>(
  lab: Lab,
  subjects: readonly One[],
  turns: number,
): Promise<(readonly [One, Cost])[]> {
  const costs = new Map<One, Cost[]>(subjects.map((subject) => [subject, []]));
  await inTurns(subjects, turns, async (subject) => {
    const { saturationMs } = lab.lengths;
    costs.get(subject)!.push(await undisturbed(() => costAtSaturation(lab, subject, saturationMs)));
  });
  return [...costs].map(([subject, several]) => [subject, together(several)] as const);
}

/** One cost of several turns of the same length: each call counts the same, whichever turn it was in. */
function together(costs: readonly Cost[]): Cost {
  const sum = (pick: (cost: Cost) => number): number => costs.reduce((total, cost) => total + pick(cost), 0);
  const calls = sum((cost) => cost.callsPerSecond);
  return {
    microsecondsPerCall: sum((cost) => cost.microsecondsPerCall * cost.callsPerSecond) / calls,
    callsPerSecond: calls / costs.length,
    busy: sum((cost) => cost.busy) / costs.length,
    stolen: sum((cost) => cost.stolen) / costs.length,
  };
}

/** The subjects take turns, another one first in each round. */
export async function inTurns<Subject>(
  subjects: readonly Subject[],
  rounds: number,
  measure: (subject: Subject, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < subjects.length; turn++) {
      await measure(subjects[(turn + round) % subjects.length]!, round);
    }
  }
}

export const describeCost = ({ microsecondsPerCall, callsPerSecond, busy, stolen }: Cost): string =>
  `${short(microsecondsPerCall)} µs per call, ${short(callsPerSecond)} calls/s, core ${Math.round(busy * 100)} % busy` +
  (stolen > MOST_STOLEN ? `, the host took ${Math.round(stolen * 100)} %` : '');

/** Until the process has used no more than a tick for a while; false when that takes longer than 10 s. */
export async function untilCalm(pid: number): Promise<boolean> {
  let last = cpuMsOf(pid);
  for (let tries = 0; tries < 67; tries++) {
    await Bun.sleep(150);
    const now = cpuMsOf(pid);
    if (now - last <= 10) return true;
    last = now;
  }
  return false;
}
