import type { Contender } from '../contenders.ts';
import { labels } from '../contenders.ts';
import type { Lab, SizeLabel } from '../lab.ts';
import { sizes } from '../lab.ts';
import { saturate } from '../load/wrk.ts';
import { chatRequest } from '../prompt.ts';
import { type Cost, costAtSaturation, describeCost, inTurns } from './cost.ts';

export interface CpuSample extends Cost {
  readonly name: Contender['name'];
  readonly size: SizeLabel;
}

export async function measureCpu(lab: Lab, contenders: readonly Contender[]): Promise<CpuSample[]> {
  const samples: CpuSample[] = [];
  await warmUp(lab, contenders);
  for (const size of sizes) {
    const body = chatRequest(size.bytes);
    if (size !== sizes[0]) for (const contender of contenders) await saturate(lab, contender, body, 1_000);
    await inTurns(lab, contenders, async ({ name, url, headers, pid }, round) => {
      const label = `${labels[name]}, ${size.label}`;
      const cost = await costAtSaturation(lab, { label, url, headers, pid, body }, lab.lengths.saturationMs);
      samples.push({ name, size: size.label, ...cost });
      lab.say(`cpu round ${round + 1}/${lab.lengths.rounds}, ${label}: ${describeCost(cost)}`);
    });
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
