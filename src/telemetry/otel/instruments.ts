import { type Attributes, jsonAttributes, ProtoWriter, writeAttributes } from './encode.ts';
import type { Encoded } from './envelope.ts';

/** Powers of four to 67 million, as the conventions have them for tokens; and doubled from a hundredth of a second. */
export const TOKEN_BOUNDS: readonly number[] = Array.from({ length: 14 }, (_, power) => 4 ** power);
export const SECOND_BOUNDS: readonly number[] = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);

/** Clients choose names of models: what comes after so many series of one metric is one series together. */
const MOST_SERIES = 2_000;
const OVERFLOW: Attributes = [['otel.metric.overflow', true]];
const CUMULATIVE = 2;

export interface Described {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  /** Null: a sum that only grows. */
  readonly bounds: readonly number[] | null;
}

interface Series {
  readonly attributes: Attributes;
  readonly counts: number[];
  count: number;
  sum: number;
}

/** One metric with its series. */
export class Instrument {
  readonly #described: Described;
  readonly #series = new Map<string, Series>();

  constructor(described: Described) {
    this.#described = described;
  }

  get isEmpty(): boolean {
    return this.#series.size === 0;
  }

  record(value: number, attributes: Attributes): void {
    const series = this.#seriesOf(attributes);
    series.count++;
    series.sum += value;
    const { bounds } = this.#described;
    if (!bounds) return;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    series.counts[bucket]!++;
  }

  #seriesOf(attributes: Attributes): Series {
    const key = attributes.map(([name, value]) => `${name}\u0000${String(value)}`).join('\u0001');
    const found = this.#series.get(key);
    if (found) return found;
    if (this.#series.size >= MOST_SERIES && attributes !== OVERFLOW) return this.#seriesOf(OVERFLOW);
    const counts = this.#described.bounds ? Array<number>(this.#described.bounds.length + 1).fill(0) : [];
    const series = { attributes, counts, count: 0, sum: 0 };
    this.#series.set(key, series);
    return series;
  }

  /** One `Metric` of `opentelemetry.proto.metrics.v1`, without its tag and length. */
  encode(writer: ProtoWriter, from: bigint, to: bigint): Uint8Array {
    const { name, unit, description, bounds } = this.#described;
    writer.text(1, name);
    writer.text(2, description);
    writer.text(3, unit);
    writer.message(bounds ? 9 : 7, () => {
      for (const { attributes, counts, count, sum } of this.#series.values())
        writer.message(1, () => {
          if (!bounds) writeAttributes(writer, 7, attributes);
          writer.fixed64(2, from);
          writer.fixed64(3, to);
          if (!bounds) return writer.double(4, sum);
          writer.fixed64(4, BigInt(count));
          writer.double(5, sum);
          writer.packed(6, counts, 'fixed64');
          writer.packed(7, bounds, 'double');
          writeAttributes(writer, 9, attributes);
        });
      writer.integer(2, CUMULATIVE);
      if (!bounds) writer.integer(3, 1);
    });
    return writer.take();
  }

  json(from: bigint, to: bigint): string {
    const { name, unit, description, bounds } = this.#described;
    const times = { startTimeUnixNano: String(from), timeUnixNano: String(to) };
    const dataPoints = [...this.#series.values()].map(({ attributes, counts, count, sum }) => ({
      attributes: jsonAttributes(attributes),
      ...times,
      ...(bounds
        ? { count: String(count), sum, bucketCounts: counts.map(String), explicitBounds: bounds }
        : { asDouble: sum }),
    }));
    const data = { dataPoints, aggregationTemporality: CUMULATIVE };
    return JSON.stringify({
      ...{ name, unit, description },
      ...(bounds ? { histogram: data } : { sum: { ...data, isMonotonic: true } }),
    });
  }
}

/** Every metric that has a value, in the form of a destination. */
export function encoded(
  instruments: Iterable<Instrument>,
  { isJson, from, to }: { isJson: boolean; from: bigint; to: bigint },
): Encoded[] {
  const writer = new ProtoWriter();
  return [...instruments]
    .filter(({ isEmpty }) => !isEmpty)
    .map((instrument) => (isJson ? instrument.json(from, to) : instrument.encode(writer, from, to)));
}
