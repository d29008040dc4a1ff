export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('percentile of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))]!;
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('median of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export interface Percentiles {
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
}

export const percentiles = (values: readonly number[]): Percentiles => ({
  calls: values.length,
  p50: values.length === 0 ? Number.NaN : percentile(values, 0.5),
  p99: values.length === 0 ? Number.NaN : percentile(values, 0.99),
});

/** Three significant digits, without an exponent: 21.4, 1,830, 0.062. */
export function short(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** "21.4 to 23.0": what the median hides. */
export function span(values: readonly number[]): string {
  return `${short(Math.min(...values))} to ${short(Math.max(...values))}`;
}
