/** Seconds; from a cache hit to a long reasoning run. */
export const BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120,
] as const;

/** An exemplar may have so many characters in all, the name of its label included. */
const LONGEST_TRACE = 128 - 'trace_id'.length;

/** What a family is for, as a scraper is told. */
export interface Description {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Names of the labels. */
  readonly labels: readonly string[];
}

/** One call that fell into a bucket. */
export interface Exemplar {
  readonly traceId: string;
  readonly value: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The values of the labels, and the value itself. */
export interface NumberSeries {
  readonly labelled: readonly string[];
  readonly value: number;
}

export interface HistogramSeries {
  readonly labelled: readonly string[];
  /** By bucket, not yet summed up; the last one has no bound. */
  readonly counts: readonly number[];
  readonly sum: number;
  /** By bucket. */
  readonly exemplars: readonly (Exemplar | null)[];
}

/** A family at one moment: plain data, so that it can go from process to process. */
export type FamilySnapshot = Description &
  (
    | { readonly type: 'counter' | 'gauge'; readonly series: readonly NumberSeries[] }
    | { readonly type: 'histogram'; readonly series: readonly HistogramSeries[] }
  );

export interface Cell {
  value: number;
}

type Branches<Value> = Map<string, Map<string, Map<string, Map<string, Value>>>>;

/** Series by the values of at most four labels. */
export class Family<Value> {
  readonly series: { readonly labelled: readonly string[]; readonly value: Value }[] = [];
  /** The same by one label after the other: to make one key of them would cost more than all that is done with it. */
  readonly #branches: Branches<Value> = new Map();
  readonly #labels: number;
  readonly #make: () => Value;

  constructor(labels: readonly string[], make: () => Value) {
    this.#labels = labels.length;
    this.#make = make;
  }

  at(first = '', second = '', third = '', fourth = ''): Value {
    return this.#branches.get(first)?.get(second)?.get(third)?.get(fourth) ?? this.#add(first, second, third, fourth);
  }

  #add(first: string, second: string, third: string, fourth: string): Value {
    const value = this.#make();
    branchOf(branchOf(branchOf(this.#branches, first), second), third).set(fourth, value);
    this.series.push({ labelled: [first, second, third, fourth].slice(0, this.#labels), value });
    return value;
  }
}

function branchOf<Key, Value>(tree: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  const branch = tree.get(name) ?? new Map<Key, Value>();
  tree.set(name, branch);
  return branch;
}

/** How often values fell into each bucket, and the last call that did. */
export class Distribution {
  readonly #counts = new Float64Array(BUCKETS.length + 1);
  #sum = 0;
  readonly #traces: (string | null)[] = Array(BUCKETS.length + 1).fill(null);
  readonly #values = new Float64Array(BUCKETS.length + 1);
  readonly #times = new Float64Array(BUCKETS.length + 1);

  observe(seconds: number, traceId: string | null = null, at = 0) {
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#sum += seconds;
    if (traceId === null || traceId.length > LONGEST_TRACE) return;
    this.#traces[bucket] = traceId;
    this.#values[bucket] = seconds;
    this.#times[bucket] = at;
  }

  snapshot(labelled: readonly string[]): HistogramSeries {
    const exemplars = this.#traces.map(
      (traceId, bucket) => traceId && { traceId, value: this.#values[bucket]!, at: this.#times[bucket]! },
    );
    return { labelled, counts: [...this.#counts], sum: this.#sum, exemplars: exemplars as (Exemplar | null)[] };
  }
}
