import { eventually } from '../process.ts';
import type { Chaos, Service } from './chaos.ts';
import type { Cut } from './link.ts';

/** What can be done to a running installation and undone again, for scenarios to choose from. */
export type Harm = (chaos: Chaos) => Promise<void>;

export const unharmed: Harm = async () => {};

/** The nodes need a second to count anew, and the watching test may miss that second: then it is done again. */
export const flushed: Harm = async (chaos) => {
  for (let attempt = 0; attempt < 5 && !chaos.evidence.degraded.has('redis'); attempt++) {
    const { epoch } = await chaos.limitsMode();
    await chaos.flush();
    await eventually('the nodes have noticed', async () => (await chaos.limitsMode()).epoch > epoch);
    await chaos.recovered();
  }
};

export const cutOff =
  (service: Service, how: Cut, forMs: number): Harm =>
  async (chaos) => {
    chaos.cut(service, how);
    await Bun.sleep(forMs);
    chaos.restore(service);
  };

/** One node sees less than the others. */
export const oneCutOff =
  (service: Service, how: Cut, forMs: number): Harm =>
  async (chaos) => {
    const nodes = [chaos.nodes.at(-1)!];
    chaos.cut(service, how, { nodes });
    await Bun.sleep(forMs);
    chaos.restore(service, { nodes });
  };

/** The server itself dies and comes back empty. */
export const redisKilled =
  (forMs: number): Harm =>
  async (chaos) => {
    chaos.harmed();
    await chaos.redis!.kill();
    await Bun.sleep(forMs);
    await chaos.redis!.restart({ keepData: false });
  };

export const slow =
  (delayMs: number, forMs: number): Harm =>
  async (chaos) => {
    const services: Service[] = chaos.redis ? ['postgres', 'redis'] : ['postgres'];
    for (const service of services) chaos.delay(service, delayMs);
    await Bun.sleep(forMs);
    for (const service of services) chaos.delay(service, 0);
  };

export const nodeKilled: Harm = async (chaos) => {
  const node = chaos.nodes.at(-1)!;
  await chaos.kill(node);
  await Bun.sleep(500);
  await node.start();
};

/**
 * A node freezes until the others take it for dead, and Redis forgets everything meanwhile. Calls reach its sockets while
 * it sleeps; when it wakes up, it believes in counters that are gone. It was idle before, because what a frozen node had
 * under way is not known to those who count anew (docs/decisions/0020-redis-counters.md).
 */
export const frozenWhileFlushed =
  (forMs: number): Harm =>
  async (chaos) => {
    const node = chaos.nodes.at(-1)!;
    await chaos.drain(node);
    chaos.freeze(node);
    const limited = chaos.evidence.callers.filter(({ limit }) => limit);
    const queued = limited.flatMap((caller) => Array.from({ length: 10 }, () => chaos.clients.call(caller, node)));
    await chaos.flush();
    await Bun.sleep(forMs);
    chaos.thaw(node);
    await Promise.all(queued);
  };
