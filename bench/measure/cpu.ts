import type { Contender } from '../contenders.ts';
import { labels } from '../contenders.ts';
import type { Lab, SizeLabel } from '../lab.ts';
import { sizes } from '../lab.ts';
import { saturate } from '../load/wrk.ts';
import { short } from '../numbers.ts';
import { cpuMsOf } from '../proc.ts';
import { chatRequest } from '../prompt.ts';

export interface CpuSample {
  readonly name: Contender['name'];
  readonly size: SizeLabel;
  readonly microsecondsPerCall: number;
  readonly callsPerSecond: number;
  /** Share of one core that the proxy used while the load lasted; below 1 the load or the upstream was the limit. */
  readonly busy: number;
}

export async function measureCpu(lab: Lab, contenders: readonly Contender[]): Promise<CpuSample[]> {
  const samples: CpuSample[] = [];
  await warmUp(lab, contenders);
  for (const size of sizes) {
    const body = chatRequest(size.bytes);
    if (size !== sizes[0]) for (const contender of contenders) await saturate(lab, contender, body, 1_000);
    for (let round = 0; round < lab.lengths.rounds; round++) {
      for (let turn = 0; turn < contenders.length; turn++) {
        const contender = contenders[(turn + round) % contenders.length]!;
        await untilCalm(contender.pid);
        const before = cpuMsOf(contender.pid);
        const { calls, failed, ms } = await saturate(lab, contender, body, lab.lengths.saturationMs);
        const during = cpuMsOf(contender.pid) - before;
        // What it does after the last answer (writing its log, say) is part of the price.
        const isCalm = await untilCalm(contender.pid);
        const microsecondsPerCall = ((cpuMsOf(contender.pid) - before) * 1_000) / calls;
        const sample = { microsecondsPerCall, callsPerSecond: (calls * 1_000) / ms, busy: during / ms };
        samples.push({ name: contender.name, size: size.label, ...sample });
        const label = labels[contender.name];
        if (failed > 0) lab.note(`${label}: ${failed} of ${calls} calls failed at saturation, ${size.label}.`);
        if (!isCalm) lab.note(`${label} was still busy 10 s after the load had ended (${size.label}).`);
        lab.say(
          `cpu ${size.label} round ${round + 1}/${lab.lengths.rounds}, ${label}: ${short(microsecondsPerCall)} µs per call, ` +
            `${short(sample.callsPerSecond)} calls/s, core ${Math.round(sample.busy * 100)} % busy`,
        );
      }
    }
  }
  return samples;
}

/** Once per process: whichever measurement comes first pays for it. */
export async function warmUp(lab: Lab, contenders: readonly Contender[]): Promise<void> {
  for (const contender of contenders) {
    if (warm.has(contender)) continue;
    lab.say(`warming up ${labels[contender.name]}`);
    await saturate(lab, contender, chatRequest(300), lab.lengths.warmUpMs[contender.name]);
    warm.add(contender);
  }
}

const warm = new WeakSet<Contender>();

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
