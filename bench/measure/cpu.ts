import type { Contender } from '../contenders.ts';
import { labels } from '../contenders.ts';
import type { Lab, SizeLabel } from '../lab.ts';
import { sizes } from '../lab.ts';
import { saturate } from '../load/wrk.ts';
import { chatRequest } from '../prompt.ts';
import { costAtSaturation, costsInTurns, describeCost, type RoundCost, type Subject } from './cost.ts';

export interface CpuSample extends RoundCost {
  readonly name: Contender['name'];
  readonly size: SizeLabel;
}

export async function measureCpu(lab: Lab, contenders: readonly Contender[]): Promise<CpuSample[]> {
  const samples: CpuSample[] = [];
  await warmUp(lab, contenders);
  for (const size of sizes) {
    const body = chatRequest(size.bytes);
    if (size !== sizes[0]) {
      // Another size takes other ways through the code.
      for (const each of contenders) await saturate(lab, each, body, lab.lengths.warmUpMs[each.name]);
    }
    const subjects = contenders.map(({ name, url, headers, pid }) => {
      const label = `${labels[name]}, ${size.label}`;
      return { name, label, url, headers, pid, body };
    });
    const { rounds, saturationMs, saturationTurns } = lab.lengths;
    for (let round = 0; round < rounds; round++) {
      const take = (subject: Subject) => costAtSaturation(lab, subject, saturationMs);
      for (const [{ name, label }, cost] of await costsInTurns(subjects, saturationTurns, take)) {
        samples.push({ name, size: size.label, ...cost });
        lab.say(`cpu round ${round + 1}/${rounds}, ${label}: ${describeCost(cost)}`);
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
