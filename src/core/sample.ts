import { networkOf } from './network.ts';

/** What was left out of one kind in one period. */
export interface LeftOut<Kind> {
  readonly kind: Kind;
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** Who caused most of it. */
  readonly addresses: readonly { readonly address: string; readonly count: number }[];
  /** What came from others than those. */
  readonly fromOthers: number;
}

export interface SampleOptions<Kind> {
  /** The most of one kind from one address in a period. */
  readonly perAddress: number;
  /** The most of all kinds from all addresses in a period. */
  readonly inAll: number;
  readonly now: () => number;
  /** Called for each that is left out. */
  readonly onLeftOut: () => void;
  /** Called at the end of a period, once for each kind of which something was left out. */
  readonly tell: (leftOut: LeftOut<Kind>) => void;
  readonly periodMs?: number;
}

interface Kept<Kind> {
  readonly kind: Kind;
  leftOut: number;
  /** As each address was left out; those that no longer fit are counted in `leftOut` alone. */
  readonly byAddress: Map<string, { taken: number; leftOut: number; most: number }>;
}

const PERIOD_MS = 60_000;
const MOST_ADDRESSES = 2_000;
const SHOWN_ADDRESSES = 5;
/**
 * An address that was left out in the last period has been recorded before: while it goes on, one tells as much as ten.
 */
const GOING_ON = 10;

/**
 * Decides which events of strangers are recorded: the first of each kind from each address in a minute, the first of all,
 * and after a minute with too many only a tenth, as long as there are too many. The others are counted, and told at the
 * end of the minute. Each process counts for itself.
 */
export class Sample<Kind> {
  readonly #options: SampleOptions<Kind>;
  readonly #periodMs: number;
  #kinds = new Map<string, Kept<Kind>>();
  #taken = 0;
  #most: number;
  #isFull = false;
  #from = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SampleOptions<Kind>) {
    this.#options = options;
    this.#periodMs = options.periodMs ?? PERIOD_MS;
    this.#most = options.inAll;
  }

  /** Whether this one is to be recorded. `name` tells kinds apart. */
  takes(address: string, name: string, kind: Kind): boolean {
    if (this.#timer === undefined) this.#begin();
    let kept = this.#kinds.get(name);
    if (!kept) {
      kept = { kind, leftOut: 0, byAddress: new Map() };
      this.#kinds.set(name, kept);
    }
    const source = networkOf(address);
    let own = kept.byAddress.get(source);
    if (!own && kept.byAddress.size < MOST_ADDRESSES) {
      own = { taken: 0, leftOut: 0, most: this.#options.perAddress };
      kept.byAddress.set(source, own);
    }
    if (own && own.taken < own.most && this.#taken < this.#most) {
      own.taken++;
      this.#taken++;
      return true;
    }
    if (this.#taken >= this.#most) this.#isFull = true;
    if (own) own.leftOut++;
    kept.leftOut++;
    this.#options.onLeftOut();
    return false;
  }

  /** Tells what has been left out so far: the process ends. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#tell();
    this.#kinds = new Map();
  }

  #begin() {
    this.#from = this.#options.now();
    this.#timer = setTimeout(() => this.#turn(), this.#periodMs);
    this.#timer.unref?.();
  }

  #turn() {
    this.#timer = undefined;
    this.#tell();
    const { inAll, perAddress } = this.#options;
    const before = this.#kinds;
    this.#kinds = new Map();
    this.#taken = 0;
    this.#most = this.#isFull ? Math.ceil(inAll / GOING_ON) : inAll;
    this.#isFull = false;
    for (const [name, { kind, byAddress }] of before) {
      const goingOn = [...byAddress].filter(([, { leftOut }]) => leftOut > 0);
      if (goingOn.length === 0) continue;
      const most = Math.ceil(perAddress / GOING_ON);
      const kept: Kept<Kind> = { kind, leftOut: 0, byAddress: new Map() };
      for (const [address] of goingOn) kept.byAddress.set(address, { taken: 0, leftOut: 0, most });
      this.#kinds.set(name, kept);
    }
    if (this.#kinds.size > 0 || this.#most < inAll) this.#begin();
  }

  #tell() {
    for (const { kind, leftOut, byAddress } of this.#kinds.values()) {
      if (leftOut === 0) continue;
      const addresses = [...byAddress]
        .map(([address, own]) => ({ address, count: own.leftOut }))
        .filter(({ count }) => count > 0)
        .sort((a, b) => b.count - a.count)
        .slice(0, SHOWN_ADDRESSES);
      const shown = addresses.reduce((total, { count }) => total + count, 0);
      const to = this.#options.now();
      this.#options.tell({ kind, count: leftOut, from: this.#from, to, addresses, fromOthers: leftOut - shown });
    }
  }
}
