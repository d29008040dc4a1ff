import { CHAT, create, createVirtualKey, json, onPostgres, spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import { saturate } from '../load/wrk.ts';
import { until } from '../processes.ts';
import { chatRequest } from '../prompt.ts';
import { openPostgres, openRedis } from '../stores.ts';
import { costAtSaturation, costsInTurns, describeCost, inTurns, type RoundCost, type Subject } from './cost.ts';

export const stores = ['embedded', 'postgres', 'redis'] as const;
export type StoreName = (typeof stores)[number];

export const storeLabels: Readonly<Record<StoreName, string>> = {
  embedded: 'embedded store',
  postgres: 'PostgreSQL without Redis',
  redis: 'PostgreSQL with Redis',
};

export interface LimitsSample extends RoundCost {
  readonly store: StoreName;
  readonly round: number;
  readonly hasLimits: boolean;
}

interface Arm extends Subject {
  readonly hasLimits: boolean;
}

const WARM_UP_TURNS = 3;

/** Far more than a run can use up: what counts is the counting. */
const rate_limits = [
  { type: 'requests', unit: 'rpd', value: 1e12 },
  { type: 'tokens', unit: 'rpd', value: 1e12 },
];

export async function measureLimits(lab: Lab): Promise<LimitsSample[]> {
  const postgres = await openPostgres(lab.cores.stores);
  const redis = await openRedis(lab.cores.stores);
  try {
    return [
      ...(await measureOn(lab, 'embedded', {})),
      ...(await measureOn(lab, 'postgres', onPostgres(await postgres.createDatabase()))),
      ...(await measureOn(lab, 'redis', { ...onPostgres(await postgres.createDatabase()), REDIS_URL: redis.url })),
    ];
  } finally {
    await Promise.all([postgres.end(), redis.end()]);
  }
}

async function measureOn(lab: Lab, store: StoreName, environment: Record<string, string>): Promise<LimitsSample[]> {
  const { origin, running } = await spawnGateway(lab, { core: lab.cores.proxy, environment });
  await createVirtualKey(origin, 'bench', `${lab.upstream.url}/v1`);
  if (store === 'redis') await until('limits are counted in Redis', () => redisCounts(origin));
  const arm = async (hasLimits: boolean): Promise<Arm> => {
    const { key } = await create(origin, '/v1/api-keys', {
      name: hasLimits ? 'limited' : 'unlimited',
      ...(hasLimits && { rate_limits }),
    });
    const headers = { ...json, 'x-gateway-api-key': String(key), 'x-gateway-virtual-key': 'bench' };
    const label = `${storeLabels[store]}, ${hasLimits ? 'two limits' : 'no limits'}`;
    return { hasLimits, label, url: `${origin}${CHAT}`, headers, body: chatRequest(300), pid: running.pid };
  };
  const arms = [await arm(false), await arm(true)];
  for (const one of arms) await checkLimits(one);
  // In turns: code that was compiled for one of them is compiled again when it has seen the other.
  await inTurns(arms, WARM_UP_TURNS, async (one) => {
    await saturate(lab, one, one.body, lab.lengths.warmUpMs.gateway / WARM_UP_TURNS);
  });
  const samples: LimitsSample[] = [];
  const { rounds, saturationMs, limitsTurns } = lab.lengths;
  for (let round = 0; round < rounds; round++) {
    const take = (one: Arm) => costAtSaturation(lab, one, saturationMs);
    for (const [{ hasLimits, label }, cost] of await costsInTurns(arms, limitsTurns, take)) {
      samples.push({ store, round, hasLimits, ...cost });
      lab.say(`limits round ${round + 1}/${rounds}, ${label}: ${describeCost(cost)}`);
    }
  }
  if (store === 'redis' && !(await redisCounts(origin))) {
    lab.note('Redis dropped out during `limits`: a part of its row was counted in PostgreSQL.');
  }
  await running.end();
  return samples;
}

/** An answer shows what is left of a limit: counting cannot be measured where nothing is counted. */
async function checkLimits({ label, url, headers, body, hasLimits }: Arm): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers, body });
  await response.arrayBuffer();
  const left = ['requests', 'tokens'].map((what) => response.headers.get(`x-ratelimit-remaining-${what}`));
  if (response.status !== 200) throw new Error(`${label}: the gateway answered ${response.status}`);
  if (left.some((value) => (value !== null) !== hasLimits)) {
    throw new Error(`${label}: the answer says that ${left.join(' requests and ')} tokens are left`);
  }
}

/** Until all nodes are connected to the same Redis, PostgreSQL counts. */
async function redisCounts(origin: string): Promise<boolean> {
  const health = (await (await fetch(`${origin}/health`)).json()) as { degraded: { part: string }[] };
  return !health.degraded.some(({ part }) => part === 'redis');
}
