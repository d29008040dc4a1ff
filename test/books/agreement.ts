import { type StoreView, viewPostgres, viewSqlite } from '../chaos/evidence.ts';
import { ChaosNode } from '../chaos/node.ts';
import { type Collector, startCollector } from '../collector.ts';
import { ADMIN_KEY } from '../gateway.ts';
import { nodeEnvironment } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, forTests } from '../process.ts';
import { scraped } from './books.ts';
import { heldCalls, type Planned, planned } from './calls.ts';
import { disagreements, type Evidence, type Life, type Made, newLife } from './compare.ts';
import { type CountingSimulator, startCountingSimulator } from './provider.ts';

export interface AgreementOptions {
  readonly database: 'sqlite' | 'postgres';
  readonly calls: number;
  /**
   * How the gateway is killed, spread evenly over the calls: in full flow, or when everything that has ended is written down
   * and a few calls are held by the provider. Then all books agree exactly; in full flow the last moments may be missing.
   */
  readonly kills: readonly ('flow' | 'standstill')[];
  readonly report?: (line: string) => void;
}

const AT_ONCE = 24;
const HELD = 8;
const SPANS_WAIT_MS = 100;
const SCRAPE_EVERY_MS = 100;

/**
 * Mixed calls while the gateway is killed again and again. Afterwards every book is held against the others, call by call.
 * What ended a moment before a kill may be missing in each of them, and is nowhere twice.
 */
export async function booksAgree(options: AgreementOptions): Promise<void> {
  const simulator = startCountingSimulator();
  const collector = startCollector();
  const database = options.database === 'postgres' ? await createDatabase() : null;
  const environment = {
    ...(database ? nodeEnvironment(database) : forTests),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_BSP_SCHEDULE_DELAY: String(SPANS_WAIT_MS),
    OTEL_BSP_MAX_QUEUE_SIZE: '100000',
    OTEL_METRICS_EXPORTER: 'none',
  };
  const node = new ChaosNode(0, { environment, clockSkewMs: 0 });
  let store: StoreView | null = null;
  try {
    await node.start();
    store = database ? await viewPostgres(database) : viewSqlite(node);
    await new Agreement({ node, store, simulator, collector }, options).run();
  } finally {
    await store?.close();
    await node.remove();
    simulator.stop();
    collector.stop();
  }
}

const disagreement = (findings: readonly string[]) =>
  new Error(`${findings.length} findings:\n  ${findings.slice(0, 20).join('\n  ')}`);

interface Parts {
  readonly node: ChaosNode;
  readonly store: StoreView;
  readonly simulator: CountingSimulator;
  readonly collector: Collector;
}

class Agreement {
  readonly #parts: Parts;
  readonly #options: AgreementOptions;
  readonly #made: Made[] = [];
  readonly #lives: Life[] = [newLife()];
  /** Names of calls under way. */
  readonly #open = new Set<string>();
  #isOver = false;
  #isStill = false;

  constructor(parts: Parts, options: AgreementOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { node, simulator } = this.#parts;
    const { calls, kills, report } = this.#options;
    for (const [slug, provider] of [
      ['sim', 'openai'],
      ['claude', 'anthropic'],
    ])
      await node.api.post('/v1/virtual-keys', {
        ...{ name: slug, slug, provider, key: 'sk-test-credential' },
        custom_host: `${simulator.origin}/v1`,
      });
    const queue = planned(calls);
    const scraping = this.#scrape();
    const killing = this.#kill(kills, calls);
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.#work(queue)));
    await killing;
    this.#isOver = true;
    await scraping;
    const findings = await this.#settled();
    report?.(this.#summary());
    if (findings.length > 0) throw disagreement(findings);
  }

  async #work(queue: Planned[]) {
    for (let call = queue.shift(); call; call = queue.shift()) {
      while (!this.#parts.node.isServing || this.#isStill) await Bun.sleep(5);
      await this.#make(call);
    }
  }

  async #make(call: Planned) {
    const [life, startedAt] = [this.#lives.length - 1, performance.now()];
    this.#open.add(call.name);
    const hasFailed = await this.#call(call);
    this.#open.delete(call.name);
    this.#made.push({ call, life, startedAt, endedAt: performance.now(), hasFailed });
  }

  async #call({ name, body, headers, leavesAfterMs }: Planned): Promise<boolean> {
    const leaving = new AbortController();
    if (leavesAfterMs !== null) void this.#leave(name, leavesAfterMs, leaving);
    try {
      const response = await fetch(`${this.#parts.node.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...headers, 'x-gateway-api-key': ADMIN_KEY },
        body,
        signal: leaving.signal,
      });
      await response.text();
      return response.status >= 400;
    } catch {
      return true;
    }
  }

  /** Not before the provider has the request: nobody can tell of a client that was never heard. */
  async #leave(name: string, afterMs: number, leaving: AbortController) {
    const { arrivals } = this.#parts.simulator;
    for (let tries = 0; tries < 1_000 && !arrivals.some((arrival) => arrival.name === name); tries++)
      await Bun.sleep(5);
    await Bun.sleep(afterMs);
    leaving.abort();
  }

  /** When so many calls have ended, evenly over all of them. */
  async #kill(kills: AgreementOptions['kills'], calls: number) {
    const { node } = this.#parts;
    for (const [at, kind] of kills.entries()) {
      const due = (calls * (at + 1)) / (kills.length + 1);
      await eventually('it is time', () => this.#made.length >= due, 600_000);
      const held = kind === 'standstill' ? await this.#standStill(at) : [];
      Object.assign(this.#lives.at(-1)!, { end: kind, killedAt: performance.now() });
      await node.kill();
      await Promise.all(held);
      this.#lives.push(newLife());
      await node.start();
      this.#isStill = false;
    }
  }

  /** A few calls are with the provider; all others have ended, and every book has them. */
  async #standStill(kill: number): Promise<Promise<void>[]> {
    this.#isStill = true;
    await eventually('calls have ended', () => this.#open.size === 0, 60_000);
    const held = heldCalls(HELD, kill);
    const calls = held.map((call) => this.#make(call));
    const { arrivals } = this.#parts.simulator;
    await eventually('calls are held', () => held.every(({ name }) => arrivals.some((each) => each.name === name)));
    const findings = await this.#settled();
    if (findings.length > 0) throw disagreement(findings);
    return calls;
  }

  /** As Prometheus does: what a process counted after it was last asked dies with it. */
  async #scrape() {
    while (!this.#isOver) {
      const life = this.#lives.at(-1)!;
      const askedAt = performance.now();
      if (this.#parts.node.isServing)
        await scraped(this.#parts.node)
          .then((sums) => Object.assign(life, { sums, askedAt }))
          .catch(() => {});
      await Bun.sleep(SCRAPE_EVERY_MS);
    }
  }

  /** The last calls are written after their answers, so books are compared until they agree. */
  async #settled(): Promise<string[]> {
    const deadline = performance.now() + 120_000;
    for (;;) {
      const findings = await disagreements(this.#evidence);
      if (findings.length === 0 || performance.now() > deadline) return findings;
      await Bun.sleep(250);
    }
  }

  get #evidence(): Evidence {
    return { ...this.#parts, made: this.#made, open: this.#open, lives: this.#lives };
  }

  #summary(): string {
    const { simulator, collector } = this.#parts;
    const named = `${this.#made.length} calls, ${this.#lives.length - 1} kills`;
    return `${named}, ${simulator.arrivals.length} requests, ${collector.spans.length} spans`;
  }
}
