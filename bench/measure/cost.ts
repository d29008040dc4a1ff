import type { Lab } from '../lab.ts';
import type { Target } from '../load/job.ts';
import { saturate } from '../load/wrk.ts';
import { short, span } from '../numbers.ts';
import { cpuMsOf } from '../proc.ts';
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
}

/** What the calmest turn of a round took, and how many microseconds per call each of its turns. */
export interface RoundCost extends Cost {
  readonly turns: readonly number[];
}

/** CPU per call while as many calls as fit are made. */
export async function costAtSaturation(lab: Lab, subject: Subject, ms: number): Promise<Cost> {
  const { label, body, pid } = subject;
  await untilCalm(pid);
  takeMemoryBack(lab);
  const before = cpuMsOf(pid);
  const { calls, failed, ms: tookMs } = await saturate(lab, subject, body, ms);
  const during = cpuMsOf(pid) - before;
  // What it does after the last answer (writing its log, say) is part of the price.
  const isCalm = await untilCalm(pid);
  const microsecondsPerCall = ((cpuMsOf(pid) - before) * 1_000) / calls;
  if (failed > 0) lab.note(`${label}: ${failed} of ${calls} calls failed at saturation.`);
  if (!isCalm) lab.note(`${label}: the proxy was still busy 10 s after the load had ended.`);
  return {
    microsecondsPerCall,
    callsPerSecond: (calls * 1_000) / tookMs,
    busy: during / tookMs,
  };
}

/**
 * What each of them costs in a round of short turns. A neighbour on the host slows down by half the one it meets, for
 * some seconds, and no counter shows it; but what disturbs only ever adds. So the cheapest turn of each counts.
 */
export async function costsInTurns<One extends Subject>(
  subjects: readonly One[],
  turns: number,
  take: (subject: One) => Promise<Cost>,
): Promise<(readonly [One, RoundCost])[]> {
  const costs = new Map<One, Cost[]>(subjects.map((subject) => [subject, []]));
  await inTurns(subjects, turns, async (subject) => void costs.get(subject)!.push(await take(subject)));
  return [...costs].map(([subject, several]) => [subject, calmest(several)] as const);
}

export function calmest(several: readonly Cost[]): RoundCost {
  const turns = several.map(({ microsecondsPerCall }) => microsecondsPerCall);
  return { ...several[turns.indexOf(Math.min(...turns))]!, turns };
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

export const describeCost = ({ microsecondsPerCall, callsPerSecond, busy, turns }: RoundCost): string =>
  `${short(microsecondsPerCall)} µs per call, ${short(callsPerSecond)} calls/s, core ${Math.round(busy * 100)} % busy; ` +
  `turns ${span(turns)} µs`;

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
