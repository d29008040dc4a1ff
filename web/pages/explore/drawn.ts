import type { ChartSeries } from '../../design/time-chart.tsx';
import type { Value } from '../../shell/dimensions.ts';
import { running, type Series } from './metrics.ts';

const OTHERS = '--series-8';
type LabelOf = (place: { readonly group: Value; readonly subgroup?: Value }) => string;

/** The series as lines, the others below them, and what all came to before. */
export function linesOf(
  data: Series,
  before: Series | null,
  { labelOf, isRunning }: { readonly labelOf: LabelOf; readonly isRunning: boolean },
): ChartSeries[] {
  const values = (points: Series['total']['points']) => (isRunning ? running(points) : points);
  const seen = new Map<string, number>();
  /** Two keys may have one name. */
  const unlike = (label: string) => {
    const times = (seen.get(label) ?? 0) + 1;
    seen.set(label, times);
    return times === 1 ? label : `${label} (${times})`;
  };
  return [
    ...data.series.map((each, at) => ({
      label: unlike(labelOf(each)),
      values: values(each.points),
      color: `--series-${(at % 7) + 1}`,
    })),
    ...(data.others
      ? [{ label: `${data.others.groups} others`, values: values(data.others.points), color: OTHERS }]
      : []),
    ...(before
      ? [{ label: 'all, before', values: shifted(values(before.total.points), data), color: OTHERS, isFaint: true }]
      : []),
  ];
}

/** The time before has as many points, or one more or less. */
const shifted = (points: readonly (number | null)[], { timestamps }: Series) =>
  timestamps.map((_, at) => points[at] ?? null);

/** What is on screen: a column for each series, and their sums. */
export function tableOf({ timestamps, series, others, total }: Series, before: Series | null, labelOf: LabelOf) {
  const columns = [
    ...series.map((each) => ({ label: labelOf(each), ...each })),
    ...(others ? [{ label: 'others', ...others }] : []),
    { label: 'total', ...total },
    ...(before ? [{ label: 'total before', ...before.total }] : []),
  ];
  return [
    ['timestamp', ...columns.map(({ label }) => label)],
    ...timestamps.map((timestamp, at) => [timestamp, ...columns.map(({ points }) => points[at])]),
    ['all', ...columns.map(({ value }) => value)],
  ];
}

/** What a group had before; null: nothing is known of it. Zero: it was not there, and all that were are known. */
export function valueBefore(before: Series, { group, subgroup }: { group: Value; subgroup?: Value }): number | null {
  const found = before.series.find((each) => each.group === group && each.subgroup === subgroup);
  if (found) return found.value;
  return before.others === null ? 0 : null;
}
