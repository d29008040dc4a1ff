import type { Outcome } from './carry-out.ts';
import type { Kind, Work } from './work.ts';

/** One kind on this node, for health and metrics. */
export interface KindStatus {
  readonly kind: string;
  readonly concurrency: number;
  readonly running: number;
  /** How long the oldest work that is due has waited, on all nodes, when this one last looked. */
  readonly lagMs: number;
  /** How attempts have ended since the start of this process. */
  readonly outcomes: Readonly<Record<Outcome, number>>;
}

/** The places of one kind on this node: never more is claimed than has one. */
export class Slots {
  readonly kind: Kind;
  readonly outcomes: Record<Outcome, number> = {
    done: 0,
    rescheduled: 0,
    released: 0,
    cancelled: 0,
    failed: 0,
    retried: 0,
    lost: 0,
  };
  lagMs = 0;
  /** The tenant that was served last. */
  after = '';
  running = 0;
  /** Running, or about to be claimed. */
  #taken = 0;

  constructor(kind: Kind) {
    this.kind = kind;
  }

  get free(): number {
    return this.kind.concurrency - this.#taken;
  }

  take(number: number) {
    this.#taken += number;
  }

  giveBack(number: number) {
    this.#taken -= number;
  }

  /** Remembers whose turn it was last: of those with most rows, the one that comes last after the former. */
  served(claimed: readonly Work[]) {
    const counts = new Map<string, number>();
    for (const { tenant } of claimed) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    const most = Math.max(0, ...counts.values());
    const last = [...counts.keys()].filter((tenant) => counts.get(tenant) === most).sort();
    this.after = last.findLast((tenant) => tenant <= this.after) ?? last.at(-1) ?? this.after;
  }

  get status(): KindStatus {
    const { kind, running, lagMs, outcomes } = this;
    return { kind: kind.name, concurrency: kind.concurrency, running, lagMs, outcomes: { ...outcomes } };
  }
}
