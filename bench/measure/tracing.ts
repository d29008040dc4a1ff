import { adminHeaders, CHAT, createVirtualKey, spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import { saturate } from '../load/wrk.ts';
import { until } from '../processes.ts';
import { chatRequest } from '../prompt.ts';
import { costAtSaturation, costsInTurns, describeCost, inTurns, type RoundCost, type Subject } from './cost.ts';

export interface TracingSample extends RoundCost {
  readonly round: number;
  readonly isTraced: boolean;
}

interface Arm extends Subject {
  readonly isTraced: boolean;
  readonly origin: string;
  readonly end: () => Promise<void>;
}

const WARM_UP_TURNS = 3;

/** Two processes, alike but for one destination of traces, in turns on one core. */
export async function measureTracing(lab: Lab): Promise<TracingSample[]> {
  const arms = [await startArm(lab, false), await startArm(lab, true)];
  await inTurns(arms, WARM_UP_TURNS, async (arm) => {
    await saturate(lab, arm, arm.body, lab.lengths.warmUpMs.gateway / WARM_UP_TURNS);
  });
  const samples: TracingSample[] = [];
  const { rounds, saturationMs, limitsTurns } = lab.lengths;
  for (let round = 0; round < rounds; round++) {
    const take = (arm: Arm) => costAtSaturation(lab, arm, saturationMs);
    for (const [{ isTraced, label }, cost] of await costsInTurns(arms, limitsTurns, take)) {
      samples.push({ round, isTraced, ...cost });
      lab.say(`tracing round ${round + 1}/${rounds}, ${label}: ${describeCost(cost)}`);
    }
  }
  const [sent, dropped] = await exported(arms[1]!.origin);
  if (dropped! > 0)
    lab.note(`In \`tracing\` ${dropped} of ${sent! + dropped!} spans were dropped: the queue was full.`);
  for (const { end } of arms) await end();
  return samples;
}

async function startArm(lab: Lab, isTraced: boolean): Promise<Arm> {
  const environment: Record<string, string> = isTraced
    ? { OTEL_EXPORTER_OTLP_ENDPOINT: `${lab.upstream.url}/otlp`, OTEL_METRICS_EXPORTER: 'none' }
    : {};
  const { origin, running } = await spawnGateway(lab, { core: lab.cores.proxy, environment });
  await createVirtualKey(origin, 'bench', `${lab.upstream.url}/v1`);
  const headers = { ...adminHeaders, 'x-gateway-virtual-key': 'bench' };
  const label = isTraced ? 'one destination' : 'no tracing';
  const arm = { isTraced, origin, label, url: `${origin}${CHAT}`, headers, body: chatRequest(300) };
  const answer = await fetch(arm.url, { method: 'POST', headers, body: arm.body });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`${label}: the gateway answered ${answer.status}`);
  // Spans that do not arrive are not what is to be measured.
  if (isTraced) await until('spans arrive', async () => (await exported(origin))[0]! > 0);
  return { ...arm, pid: running.pid, end: running.end };
}

/** How many spans were taken, and how many were not. */
async function exported(origin: string): Promise<number[]> {
  const text = await (await fetch(`${origin}/metrics`, { headers: adminHeaders })).text();
  return ['sent', 'dropped'].map((what) =>
    Number(new RegExp(`^gateway_otel_${what}_total\\{[^}]*\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0),
  );
}
