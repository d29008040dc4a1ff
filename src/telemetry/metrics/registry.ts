import { type Cell, type Description, Distribution, Family, type FamilySnapshot, type NumberSeries } from './family.ts';

/** Counters end so, and nothing else does. */
type CounterName = `${string}_total`;

/**
 * Where each part of the gateway says what it counts:
 *
 *     const spans = metrics.counter('gateway_spans_total', 'Spans by what became of them.', ['result']);
 *     spans.at('sent').value += 12;
 *
 * A series is there from its first `at` on; one whose values are known beforehand is asked for at the start, so that it
 * begins at zero. What clients choose is never a label without a bound: see `capped.ts`.
 */
export interface Registry {
  counter(name: CounterName, help: string, labels?: readonly string[]): Family<Cell>;
  /** Seconds, in buckets. */
  histogram(name: string, help: string, labels?: readonly string[]): Family<Distribution>;
  /** A value that is read when the metrics are asked for. */
  gauge(name: string, help: string, read: () => number): void;
  /** The same with one value for each of several names. */
  gauges(name: string, help: string, label: string, read: () => Iterable<readonly [name: string, value: number]>): void;
  /** Values that are kept elsewhere. */
  collected(description: Description & { type: 'counter' | 'gauge' }, read: () => readonly NumberSeries[]): void;
  /** Every family with its series as they are now. */
  snapshot(): readonly FamilySnapshot[];
  readonly families: readonly Description[];
}

export function createRegistry(): Registry {
  const families = new Map<string, { readonly description: Description; readonly snapshot: () => FamilySnapshot }>();

  const register = (description: Description, snapshot: () => FamilySnapshot) => {
    const { name, type } = description;
    if (families.has(name)) throw new Error(`The metric ${name} exists already.`);
    if (name.endsWith('_total') !== (type === 'counter'))
      throw new Error(`The metric ${name} is a ${type}: counters end in _total, and nothing else does.`);
    families.set(name, { description, snapshot });
  };

  const collected: Registry['collected'] = (description, read) =>
    register(description, () => ({ ...description, series: read() }));

  return {
    counter: (name, help, labels = []) => {
      const family = new Family<Cell>(labels, () => ({ value: 0 }));
      collected({ name, type: 'counter', help, labels }, () =>
        family.series.map(({ labelled, value: { value } }) => ({ labelled, value })),
      );
      return family;
    },
    histogram: (name, help, labels = []) => {
      const family = new Family(labels, () => new Distribution());
      const description = { name, type: 'histogram', help, labels } as const;
      register(description, () => ({
        ...description,
        series: family.series.map(({ labelled, value }) => value.snapshot(labelled)),
      }));
      return family;
    },
    gauge: (name, help, read) =>
      collected({ name, type: 'gauge', help, labels: [] }, () => [{ labelled: [], value: read() }]),
    gauges: (name, help, label, read) =>
      collected({ name, type: 'gauge', help, labels: [label] }, () =>
        Array.from(read(), ([of, value]) => ({ labelled: [of], value })),
      ),
    collected,
    snapshot: () => Array.from(families.values(), ({ snapshot }) => snapshot()),
    get families() {
      return Array.from(families.values(), ({ description }) => description);
    },
  };
}
