import { Pace } from './pace.ts';

/** How the provider took a request: well, with "too many requests", or with a failure of its own. */
export type Verdict = 'well' | 'refused' | 'unwell';

/** The right to make one request now. */
export interface Permit {
  /** To be called once, when the answer is there. `retryAfterMs`: no request is made before that is over. */
  release(verdict: Verdict, retryAfterMs?: number): void;
}

export interface GatesOptions {
  /** The most requests at once through one virtual key. */
  readonly most: number;
  /** How fast they may follow each other; as fast as they can when left out. */
  readonly pace?: Pace;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
}

const FIRST = 8;
const MOST_IDLE = 1_000;

interface Waiting {
  readonly start: () => void;
}

interface Gate {
  readonly key: string;
  limit: number;
  inFlight: number;
  /** Whether the provider has ever refused: before that, the limit doubles with every round. */
  isCareful: boolean;
  /** Requests that began before then say nothing new about the limit. */
  cutAt: number;
  pausedUntil: number;
  /** By batch, in the order of their turns. */
  readonly queues: Map<string, Waiting[]>;
}

/**
 * How many requests of batches are made at once, for each virtual key on this node: more while the provider is well, half
 * as many when it refuses, none while it asked to wait. Batches take turns, and all of them keep to the pace.
 */
export class Gates {
  readonly #options: Required<GatesOptions>;
  readonly #gates = new Map<string, Gate>();
  #inFlight = 0;
  readonly #watcher = { isIdle: () => this.#inFlight === 0, serve: () => this.#serveAll() };

  constructor({ most, pace = new Pace(), now = () => performance.now() }: GatesOptions) {
    this.#options = { most, pace, now };
  }

  /** Waits for its turn; null when the signal fired before it came. */
  enter(key: string, batch: string, signal: AbortSignal): Promise<Permit | null> {
    const gate = this.#gateOf(key);
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(null);
      const queue = gate.queues.get(batch) ?? [];
      gate.queues.set(batch, queue);
      const leave = () => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0 && gate.queues.get(batch) === queue) gate.queues.delete(batch);
        resolve(null);
      };
      const waiting: Waiting = {
        start: () => {
          signal.removeEventListener('abort', leave);
          resolve(this.#permit(gate));
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.push(waiting);
      this.#serve(gate);
    });
  }

  /** Whether callers outside batches use models now. */
  get isGivingWay(): boolean {
    return this.#options.pace.isGivingWay;
  }

  /** For tests and metrics. */
  limitOf(key: string): number {
    return this.#gates.get(key)?.limit ?? FIRST;
  }

  #gateOf(key: string): Gate {
    const found = this.#gates.get(key);
    if (found) return found;
    const isIdle = (gate: Gate) => gate.inFlight === 0 && gate.queues.size === 0;
    if (this.#gates.size >= MOST_IDLE)
      for (const gate of this.#gates.values()) if (isIdle(gate)) this.#gates.delete(gate.key);
    const gate: Gate = {
      key,
      limit: Math.min(FIRST, this.#options.most),
      inFlight: 0,
      isCareful: false,
      cutAt: Number.NEGATIVE_INFINITY,
      pausedUntil: Number.NEGATIVE_INFINITY,
      queues: new Map(),
    };
    this.#gates.set(key, gate);
    return gate;
  }

  #permit(gate: Gate): Permit {
    const startedAt = this.#options.now();
    let isOver = false;
    gate.inFlight++;
    this.#inFlight++;
    this.#options.pace.watch(this.#watcher);
    return {
      release: (verdict, retryAfterMs = 0) => {
        if (isOver) return;
        isOver = true;
        gate.inFlight--;
        this.#inFlight--;
        this.#learn(gate, verdict, startedAt);
        if (retryAfterMs > 0) this.#pause(gate, retryAfterMs);
        this.#serveAll();
      },
    };
  }

  #learn(gate: Gate, verdict: Verdict, startedAt: number) {
    if (verdict === 'well') {
      gate.limit = Math.min(this.#options.most, gate.limit + (gate.isCareful ? 1 / gate.limit : 1));
    } else if (startedAt >= gate.cutAt) {
      // All that were under way when it refused refuse together; they count once.
      gate.limit = Math.max(1, gate.limit / 2);
      gate.cutAt = this.#options.now();
      gate.isCareful = true;
    }
  }

  #pause(gate: Gate, ms: number) {
    const until = this.#options.now() + ms;
    if (until <= gate.pausedUntil) return;
    gate.pausedUntil = until;
    setTimeout(() => this.#serve(gate), ms + 1);
  }

  #serveAll() {
    for (const gate of this.#gates.values()) this.#serve(gate);
  }

  #serve(gate: Gate) {
    while (gate.inFlight < Math.floor(gate.limit)) {
      if (this.#options.now() < gate.pausedUntil) return;
      const [turn] = gate.queues;
      if (!turn || !this.#options.pace.take()) return;
      const [batch, queue] = turn;
      // To the end of the round.
      gate.queues.delete(batch);
      const next = queue.shift();
      if (queue.length > 0) gate.queues.set(batch, queue);
      next?.start();
    }
  }
}
