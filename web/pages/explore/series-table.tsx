import { useMemo } from 'react';
import { IconButton } from '../../design/button.tsx';
import { formatDuration, formatMoney, formatNumber } from '../../design/format.ts';
import { Card } from '../../design/layout.tsx';
import { Delta, Sparkline } from '../../design/sparkline.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Swatch } from '../../design/time-chart.tsx';
import type { Dimension, Value } from '../../shell/dimensions.ts';
import { valueBefore } from './drawn.ts';
import type { Place } from './explore.tsx';
import type { MetricName } from './metric-names.ts';
import { formatShare, METRICS, type Metric, type Series } from './metrics.ts';

interface Row extends Omit<Series['total'], never> {
  readonly id: string;
  readonly place: Place;
  readonly label: string;
  readonly then: string;
  readonly color: string | null;
}

export interface SeriesTableProps {
  readonly data: Series;
  /** The same of the time before; null where it is not asked for. */
  readonly before: Series | null;
  readonly metric: MetricName;
  readonly by: Dimension;
  readonly then: Dimension | null;
  readonly nameOf: (dimension: string, value: Value) => string;
  readonly colors: readonly string[];
  /** What opens the calls of a row; null where the role may not see them, or the log cannot be asked for them. */
  readonly onOpen: ((place: Place) => (() => void) | null) | null;
  /** What makes a row the filter; null where it cannot be one. */
  readonly onNarrow: (place: Place) => (() => void) | null;
}

/** The series in figures: each row opens its calls. */
export function SeriesTable(props: SeriesTableProps) {
  const { data, before, metric, by, then, nameOf, colors, onOpen, onNarrow } = props;
  const rows = useMemo(
    (): Row[] => [
      ...data.series.map((each, at) => ({
        ...each,
        id: String(at),
        place: { group: each.group, subgroup: each.subgroup },
        label: nameOf(by.value, each.group),
        then: then ? nameOf(then.value, each.subgroup ?? null) : '',
        color: colors[at] ?? null,
      })),
      ...(data.others
        ? [
            {
              ...data.others,
              id: 'others',
              place: 'others' as const,
              label: `${data.others.groups} others`,
              then: '',
              color: colors[data.series.length]!,
            },
          ]
        : []),
      { ...data.total, id: 'total', place: 'all', label: 'All', then: '', color: null },
    ],
    [data, by, then, nameOf, colors],
  );
  const { label, format, isSum, better }: Metric = METRICS[metric];
  const total = data.total.value ?? 0;
  const pastOf = (place: Place): number | null => {
    if (!before || place === 'others') return null;
    return place === 'all' ? before.total.value : valueBefore(before, place);
  };
  const money = (value: number | null) => (value === null ? '–' : formatMoney(value));
  const columns: readonly Column<Row>[] = [
    {
      id: 'group',
      header: by.label,
      sort: (row) => row.label,
      cell: (row) => (
        <span className="explore-name">
          {row.color ? <Swatch color={row.color} /> : <span className="explore-no-swatch" />}
          <span className={`truncate ${typeof row.place === 'string' ? 'soft' : ''}`}>{row.label}</span>
        </span>
      ),
    },
    ...(then
      ? [{ id: 'then', header: then.label, sort: (row: Row) => row.then, cell: (row: Row) => row.then || '–' }]
      : []),
    {
      id: 'value',
      header: label,
      align: 'end',
      sort: (row) => row.value ?? -1,
      cell: (row) => <strong className="numeric">{row.value === null ? '–' : format(row.value)}</strong>,
    },
    ...(before
      ? [
          {
            id: 'before',
            header: 'Before',
            align: 'end' as const,
            sort: (row: Row) => pastOf(row.place) ?? -1,
            cell: (row: Row) => {
              const past = pastOf(row.place);
              return (
                <span className="explore-before">
                  <Delta now={row.value} before={past} better={better} />
                  <span className="numeric soft">{past === null ? '–' : format(past)}</span>
                </span>
              );
            },
          },
        ]
      : []),
    ...(isSum
      ? [
          {
            id: 'share',
            header: 'Share',
            align: 'end' as const,
            hideBelow: 'small' as const,
            sort: (row: Row) => row.value ?? 0,
            cell: (row: Row) => (
              <span className="numeric soft">{total > 0 ? formatShare((row.value ?? 0) / total) : '–'}</span>
            ),
          },
        ]
      : []),
    {
      id: 'course',
      header: 'Course',
      width: '130px',
      hideBelow: 'medium',
      cell: (row) => (
        <span className="explore-spark">
          <Sparkline values={row.points} color={row.color ?? '--ink-3'} />
        </span>
      ),
    },
    ...figure('requests', 'Requests', metric, (row) => row.figures.requests, formatNumber),
    ...figure('error_rate', 'Failed', metric, (row) => row.figures.error_rate, formatShare),
    ...figure('cost', 'Cost', metric, (row) => row.figures.cost, money),
    ...figure('total_tokens', 'Tokens', metric, (row) => row.figures.total_tokens, formatNumber),
    ...figure('latency_avg', 'Mean latency', metric, (row) => row.figures.latency_avg, formatDuration),
    {
      id: 'narrow',
      header: <span className="hidden-visually">Filter</span>,
      width: '44px',
      align: 'end',
      cell: (row) => {
        const narrow = onNarrow(row.place);
        return narrow && <IconButton size="small" icon="filter" label={`Filter by ${row.label}`} onClick={narrow} />;
      },
    },
  ];
  return (
    <Card isFlush>
      <Table
        label={`${label} by ${by.label}`}
        rows={rows}
        columns={columns}
        rowKey={({ id }) => id}
        onOpen={onOpen ? (row) => onOpen(row.place)?.() : undefined}
      />
    </Card>
  );
}

/** A column beside the metric, where that is another one. */
function figure(
  id: string,
  header: string,
  metric: MetricName,
  of: (row: Row) => number | null,
  format: (value: number) => string,
): Column<Row>[] {
  if (id === metric) return [];
  return [
    {
      id,
      header,
      align: 'end',
      hideBelow: id === 'requests' || id === 'cost' ? 'medium' : 'large',
      sort: (row) => of(row) ?? -1,
      cell: (row) => {
        const value = of(row);
        return <span className="numeric">{value === null ? '–' : format(value)}</span>;
      },
    },
  ];
}
