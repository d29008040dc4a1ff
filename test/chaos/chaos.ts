import { nodeEnvironment } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, forTests } from '../process.ts';
import { startRedis, type TestRedis } from '../redis.ts';
import { type Evidence, type StoreView, viewPostgres, viewSqlite } from './evidence.ts';
import type { Invariant } from './invariants.ts';
import { type Cut, type Link, openLink } from './link.ts';
import { type Ask, type Call, type Caller, Clients } from './load.ts';
import { ChaosNode } from './node.ts';
import { type CountingProvider, startCountingProvider } from './provider.ts';

/**
 * Gateways as processes, with PostgreSQL and Redis behind links that can be cut, under load, and what must hold
 * whatever is done to them:
 *
 *     await withChaos({ nodes: 3, redis: true, database: 'postgres' }, async (chaos) => {
 *       const caller = await chaos.caller({ requests: 100 });
 *       const load = chaos.load([caller], 200);
 *       chaos.cut('redis', 'blackhole');          // or kill, freeze, flush, delay
 *       await Bun.sleep(2_000);
 *       chaos.restore('redis');
 *       await chaos.recovered();
 *       await load.stop();
 *       await chaos.check(honestAnswers, limitsHold, ledgerComplete());
 *     });
 *
 * Invariants (invariants.ts) see only what is visible from outside: answers, `/health`, what the provider counted, and
 * rows of the store. To add one, write a function from `Evidence` to a list of what is wrong; to add something it needs
 * to know, add a member to `Evidence`. Scenarios (scenarios.ts) take their length and rate, so that a short form runs in
 * `test/front-door/chaos.test.ts` and a long one in `test/long/chaos.test.ts`.
 *
 * Each call asks for a model of its own name, which the provider sees and the ledger keeps: that is how they are
 * compared. Work that must be done exactly once has a harness of its own (work.ts).
 */
export interface ChaosOptions {
  readonly nodes: number;
  readonly redis: boolean;
  readonly database: 'postgres' | 'sqlite';
  /** How long the provider takes, so that calls are under way when something breaks. */
  readonly answerAfterMs?: number;
  /** How far the clock of each node is ahead. */
  readonly clockSkewsMs?: readonly number[];
}

export type Service = 'postgres' | 'redis';

interface Where {
  /** Only their links; all of them when nothing is said. */
  readonly nodes?: readonly ChaosNode[];
}

export async function withChaos(options: ChaosOptions, run: (chaos: Chaos) => Promise<void>): Promise<void> {
  const chaos = await startChaos(options);
  try {
    await run(chaos);
  } finally {
    await chaos.remove();
  }
}

export async function startChaos(options: ChaosOptions): Promise<Chaos> {
  await insideTheWeek();
  const isEmbedded = options.database === 'sqlite';
  const databaseUrl = isEmbedded ? null : await createDatabase();
  const redis = options.redis ? await startRedis() : null;
  const links: Links[] = [];
  const nodes: ChaosNode[] = [];
  for (let number = 0; number < options.nodes; number++) {
    const link: Links = {
      postgres: databaseUrl ? await openLink(Number(new URL(databaseUrl).port)) : null,
      redis: redis ? await openLink(redis.port) : null,
    };
    links.push(link);
    const environment = {
      ...(databaseUrl ? nodeEnvironment(withPort(databaseUrl, link.postgres!.port)) : forTests),
      ...(redis && { REDIS_URL: withPort(redis.url, link.redis!.port) }),
    };
    nodes.push(new ChaosNode(number, { environment, clockSkewMs: options.clockSkewsMs?.[number] ?? 0 }));
  }
  const provider = startCountingProvider(options.answerAfterMs ?? 20);
  const store = databaseUrl ? await viewPostgres(databaseUrl) : viewSqlite(nodes[0]!);
  const chaos = new Chaos({ nodes, links, redis, provider, store });
  try {
    await chaos.start();
  } catch (error) {
    await chaos.remove();
    throw error;
  }
  return chaos;
}

interface Links {
  readonly postgres: Link | null;
  readonly redis: Link | null;
}

interface Parts {
  readonly nodes: readonly ChaosNode[];
  readonly links: readonly Links[];
  readonly redis: TestRedis | null;
  readonly provider: CountingProvider;
  readonly store: StoreView;
}

const HEALTH_EVERY_MS = 100;

export class Chaos {
  readonly nodes: readonly ChaosNode[];
  /** The server itself, to be killed, frozen or restarted; null without one. Say `harmed()` before. */
  readonly redis: TestRedis | null;
  readonly clients: Clients;
  readonly #parts: Parts;
  readonly #callers: Caller[] = [];
  readonly #faults: { from: number; until: number }[] = [];
  readonly #degraded = new Set<string>();
  readonly #watch: ReturnType<typeof setInterval>;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.nodes = parts.nodes;
    this.redis = parts.redis;
    this.clients = new Clients(parts.nodes);
    this.#watch = setInterval(() => void this.#look(), HEALTH_EVERY_MS);
  }

  get provider(): CountingProvider {
    return this.#parts.provider;
  }

  get evidence(): Evidence {
    return {
      nodes: this.nodes,
      callers: this.#callers,
      calls: this.clients.calls,
      arrivals: this.provider.arrivals,
      faults: this.#faults,
      degraded: this.#degraded,
      store: this.#parts.store,
    };
  }

  async start(): Promise<void> {
    const [first, ...rest] = this.nodes;
    await first!.start();
    await Promise.all(rest.map((node) => node.start()));
    await this.#made('/v1/virtual-keys', {
      name: 'sim',
      slug: 'sim',
      provider: 'openai',
      key: 'sk-test-credential',
      custom_host: this.provider.url,
    });
    await this.recovered();
  }

  /** A new key, with or without a limit. */
  async caller(
    limit: Partial<Record<'requests' | 'tokens' | 'cost', number>> = {},
    ask: Ask = { maxTokens: 20, answerTokens: 10 },
  ): Promise<Caller> {
    const [counts, value] = (Object.entries(limit)[0] ?? [null, 0]) as ['requests' | 'tokens' | 'cost' | null, number];
    const limits =
      counts === 'requests'
        ? { rate_limits: [{ type: counts, unit: 'rpw', value }] }
        : counts && { usage_limits: { type: counts, credit_limit: value } };
    const { id, key } = await this.#made('/v1/api-keys', { name: `chaos ${this.#callers.length}`, ...limits });
    const caller: Caller = { id, key, limit: counts && { counts, value }, ask };
    this.#callers.push(caller);
    return caller;
  }

  /** Calls until the limit is reached, so that any call that still passes is one too many. */
  async exhaust(caller: Caller): Promise<void> {
    for (;;) {
      const calls = await this.burst(caller, 10);
      if (calls.some(({ outcome }) => outcome === 429 || outcome === 412)) return;
    }
  }

  burst(caller: Caller, count: number): Promise<Call[]> {
    return Promise.all(Array.from({ length: count }, () => this.clients.insist(caller)));
  }

  load(callers: readonly Caller[], rate: number): ReturnType<Clients['load']> {
    return this.clients.load(callers, rate);
  }

  cut(service: Service, how: Cut, where: Where = {}): void {
    this.harmed();
    for (const link of this.#linksOf(service, where)) link.cut(how);
  }

  restore(service: Service, where: Where = {}): void {
    for (const link of this.#linksOf(service, where)) link.restore();
  }

  delay(service: Service, ms: number, where: Where = {}): void {
    for (const link of this.#linksOf(service, where)) link.delay(ms);
  }

  /** Redis loses its memory while it runs. */
  async flush(): Promise<void> {
    this.harmed();
    await this.redis!.flush();
  }

  kill(node: ChaosNode): Promise<void> {
    this.harmed();
    return node.kill();
  }

  /** Takes a node out as a balancer does, and waits until what it had begun has ended and is in the ledger. */
  async drain(node: ChaosNode): Promise<void> {
    node.leave();
    await eventually(`node ${node.number} has nothing to do`, () => this.clients.openOn(node) === 0);
    const mine = new Set(this.clients.calls.filter((call) => call.node === node && call.outcome === 200));
    let missing: readonly Call[] = [];
    try {
      await eventually('what it did is in the ledger', async () => {
        const written = new Set((await this.#parts.store.ledger()).map(({ model }) => model));
        missing = [...mine].filter(({ name }) => !written.has(name));
        return missing.length === 0;
      });
    } catch (error) {
      const calls = missing.map(({ name, startedAt, endedAt }) => `${name} (${startedAt} to ${endedAt})`).join(', ');
      throw new Error(`${(error as Error).message}; missing: ${calls}; node ${node.number} said: ${node.errors}`);
    }
  }

  freeze(node: ChaosNode): void {
    this.harmed();
    node.freeze();
  }

  thaw(node: ChaosNode): void {
    node.thaw();
  }

  /** From now until everything has recovered, 503 is an honest answer. */
  harmed(): void {
    if (this.#faults.at(-1)?.until === Number.POSITIVE_INFINITY) return;
    this.#faults.push({ from: performance.now(), until: Number.POSITIVE_INFINITY });
  }

  /** Everything is well again by itself: each node says so, and limits are counted where they should be. */
  async recovered(limitMs = 120_000): Promise<void> {
    let wrong: string | null = null;
    try {
      const isWell = async () => {
        wrong = await this.#whatIsWrong();
        return wrong === null;
      };
      await eventually('everything is well again', isWell, limitMs);
    } catch (error) {
      throw new Error(`${(error as Error).message}; ${wrong}`);
    }
    const fault = this.#faults.at(-1);
    if (fault?.until === Number.POSITIVE_INFINITY) fault.until = performance.now();
  }

  /** Where nodes on PostgreSQL count; the epoch grows whenever that changes. */
  async limitsMode(): Promise<{ mode: string; epoch: number }> {
    const rows = await this.#parts.store.rows<{ mode: string; epoch: string }>('select mode, epoch from limits_mode');
    return { mode: rows[0]!.mode, epoch: Number(rows[0]!.epoch) };
  }

  /** Throws with everything that is wrong. */
  async check(...invariants: readonly Invariant[]): Promise<void> {
    const broken: string[] = [];
    for (const { name, find } of invariants) {
      const findings = await find(this.evidence);
      if (findings.length === 0) continue;
      broken.push(`${name}: ${findings.length} times\n  ${findings.slice(0, 10).join('\n  ')}`);
    }
    if (broken.length === 0) return;
    const errors = this.nodes.map(({ number, errors }) => errors && `node ${number} wrote:\n${errors.slice(-2_000)}`);
    throw new Error([...broken, ...errors].filter(Boolean).join('\n'));
  }

  async remove(): Promise<void> {
    clearInterval(this.#watch);
    await Promise.all(this.nodes.map((node) => node.remove()));
    for (const { postgres, redis } of this.#parts.links) {
      postgres?.close();
      redis?.close();
    }
    await this.#parts.store.close();
    await this.redis?.stop();
    this.provider.stop();
  }

  #linksOf(service: Service, { nodes = this.nodes }: Where): Link[] {
    return nodes.map(({ number }) => this.#parts.links[number]![service]!);
  }

  async #made(path: string, body: unknown) {
    const send = () => this.clients.pick()!.api.post(path, body);
    let reply = await send();
    // A busy machine is slow enough for that before any harm is done. Nothing was changed, so it is sent again.
    for (let tries = 1; reply.status === 503 && tries < 30; tries++) {
      await Bun.sleep(HEALTH_EVERY_MS);
      reply = await send();
    }
    if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
    return reply.json;
  }

  async #whatIsWrong(): Promise<string | null> {
    // A client that asks without a pause would be a load of its own.
    await Bun.sleep(HEALTH_EVERY_MS);
    for (const node of this.nodes) {
      const wrong = await wrongWith(node);
      if (wrong) return `node ${node.number} ${wrong}`;
    }
    if (!this.redis) return null;
    const { mode } = await this.limitsMode();
    return mode === 'redis' ? null : `limits are counted in ${mode}`;
  }

  async #look() {
    for (const node of this.nodes) {
      if (!node.isServing) continue;
      const reply = await node.api.get('/health', { key: null }).catch(() => null);
      for (const { part } of (reply?.json?.degraded ?? []) as { part: string }[]) this.#degraded.add(part);
    }
  }
}

async function wrongWith(node: ChaosNode): Promise<string | null> {
  if (!node.isServing) return 'does not serve';
  const { json } = await node.api.get('/health', { key: null });
  if (json.degraded.length > 0) return `says ${JSON.stringify(json.degraded)}`;
  const { status } = await node.api.get('/ready', { key: null });
  return status === 200 ? null : `is not ready: ${status}`;
}

const WEEK_MS = 7 * 86_400_000;
/** The first Monday of 1970. */
const MONDAY_MS = 4 * 86_400_000;
/** Longer than any scenario. */
const MARGIN_MS = 240_000;

/** Limits on requests are set per week, from Monday on, and no scenario straddles two of them. */
async function insideTheWeek(): Promise<void> {
  const left = WEEK_MS - ((Date.now() - MONDAY_MS) % WEEK_MS);
  if (left < MARGIN_MS) await Bun.sleep(left + 10_000);
}

function withPort(url: string, port: number): string {
  const moved = new URL(url);
  moved.port = String(port);
  return moved.href;
}
