import type { Contender } from '../contenders.ts';
import { labels } from '../contenders.ts';
import type { Lab, SizeLabel } from '../lab.ts';
import { sizes } from '../lab.ts';
import { saturate } from '../load/wrk.ts';
import { chatRequest } from '../prompt.ts';
import { type Cost, costAtSaturation, describeCost, inTurns, together } from './cost.ts';

export interface CpuSample extends Cost {
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
      for (const each of contenders) await saturate(lab, each, body, lab.lengths.warmUpMs[each.name] / 6);
    }
    for (let round = 0; round < lab.lengths.rounds; round++) {
      for (const [name, cost] of await measureRound(lab, contenders, size.label, body)) {
        samples.push({ name, size: size.label, ...cost });
        lab.say(`cpu round ${round + 1}/${lab.lengths.rounds}, ${labels[name]}, ${size.label}: ${describeCost(cost)}`);
      }
    }
  }
  return samples;
}

/** In short turns: a machine whose speed changes from second to second is then slow for all of them alike. */
async function measureRound(lab: Lab, contenders: readonly Contender[], size: SizeLabel, body: string) {
  const costs = new Map<Contender['name'], Cost[]>();
  await inTurns(contenders, lab.lengths.saturationTurns, async ({ name, url, headers, pid }) => {
    const subject = { label: `${labels[name]}, ${size}`, url, headers, pid, body };
    const cost = await costAtSaturation(lab, subject, lab.lengths.saturationMs);
    costs.set(name, [...(costs.get(name) ?? []), cost]);
  });
  return [...costs].map(([name, several]) => [name, together(several)] as const);
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
