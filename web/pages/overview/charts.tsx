import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { formatCount, formatDuration, formatMoney, formatNumber } from '../../design/format.ts';
import { Card } from '../../design/layout.tsx';
import { Skeleton } from '../../design/states.tsx';
import { type ChartSeries, TimeChart } from '../../design/time-chart.tsx';
import { dimensionOf } from '../../shell/dimensions.ts';
import { useOpenLogs } from '../../shell/open-logs.ts';
import { type Looking, searchOf, useReach } from '../../shell/range.ts';
import { type Figures, type Point, useTold } from './figures.ts';
import { TOLD, type ToldBy } from './questions.ts';

const GROUP = 'overview';
const FAILED = '-failed_by:none';
const HEIGHT = 190;

interface Drawn {
  readonly title: string;
  readonly about?: ReactNode;
  readonly look: 'bars' | 'areas' | 'lines';
  readonly format: (value: number) => string;
  readonly series: readonly ChartSeries[];
  /** What the log is asked for by each series; without it, for all calls of the point. */
  readonly terms?: readonly (string | null)[];
  /** Where Explore goes on with it. */
  readonly explore: Readonly<Record<string, string>>;
}

/** All charts: the cursor is in all of them at once. */
export function Charts({ figures, isCompared }: { readonly figures: Figures | null; readonly isCompared: boolean }) {
  const drawn = useMemo(() => (figures ? chartsOf(figures, isCompared) : null), [figures, isCompared]);
  const { span, setSpan, reach } = useReach();
  const shared: Shared = { span, setSpan, search: searchOf(reach), openLogs: useOpenLogs() };
  return (
    <div className="overview-charts">
      {drawn && figures
        ? drawn.map((each) => (
            <Chart
              key={each.title}
              {...each}
              {...shared}
              times={figures.now.data_points}
              seconds={figures.now.bucket_seconds}
            />
          ))
        : Array.from({ length: 6 }, (_, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
            <Card key={at}>
              <div className="overview-waiting-chart">
                <Skeleton lines={5} />
              </div>
            </Card>
          ))}
      {figures && <Told by="cache_status" {...shared} />}
      {figures && <Told by="verdict" {...shared} />}
    </div>
  );
}

/** What all charts have in common, found out once. */
interface Shared extends Pick<Looking, 'span' | 'setSpan'> {
  /** The time and the filter, as they stand in the address. */
  readonly search: ReturnType<typeof searchOf>;
  readonly openLogs: ReturnType<typeof useOpenLogs>;
}

interface ChartProps extends Drawn, Shared {
  readonly times: readonly { readonly timestamp: string }[];
  readonly seconds: number;
}

function Chart(props: ChartProps) {
  const { title, about, look, format, series, terms, explore, times, seconds, span, setSpan, search, openLogs } = props;
  const at = useMemo(() => times.map(({ timestamp }) => Date.parse(timestamp)), [times]);
  return (
    <Card
      title={title}
      about={about}
      actions={
        <Link to="/explore" search={{ ...search, ...explore } as never} className="overview-more small">
          Explore
        </Link>
      }
    >
      <TimeChart
        label={`${title} over time`}
        {...{ look, format, series, span }}
        times={at}
        step={seconds * 1_000}
        height={HEIGHT}
        group={GROUP}
        onZoom={(from, until) => setSpan({ from, until })}
        onOpen={
          openLogs
            ? (from, until, chosen) => openLogs([chosen === null ? '' : (terms?.[chosen] ?? '')], { from, until })
            : undefined
        }
      />
    </Card>
  );
}

function chartsOf({ now, before }: Figures, isCompared: boolean): Drawn[] {
  const points = now.data_points;
  const drawn = (label: string, color: string, value: (point: Point) => number | null): ChartSeries => ({
    ...{ label, color },
    values: points.map(value),
  });
  /** The time before has as many points, or one more or less. */
  const past = (value: (point: Point) => number | null, label = 'before'): ChartSeries[] => {
    const list = isCompared ? before?.data_points : undefined;
    if (!list) return [];
    const values = points.map((_, at) => (list[at] === undefined ? null : value(list[at])));
    return [{ label, values, color: '--series-8', isFaint: true }];
  };
  const most = (value: number) => Math.max(0, value);
  return [
    {
      title: 'Traffic',
      look: 'bars',
      format: formatNumber,
      series: [
        drawn('answered', '--series-1', ({ requests, errors }) => requests - errors),
        drawn('failed', '--bad-solid', ({ errors }) => errors),
        ...past(({ requests }) => requests),
      ],
      terms: ['failed_by:none', FAILED],
      explore: { metric: 'requests', group: 'model' },
    },
    {
      title: 'Errors by origin',
      look: 'bars',
      format: formatNumber,
      series: [
        drawn('client', '--series-3', (point) => point.client_errors),
        drawn('provider', '--bad-solid', (point) => point.provider_errors),
        drawn('gateway', '--series-6', (point) => point.gateway_errors),
        ...past(({ errors }) => errors),
      ],
      terms: ['failed_by:client', 'failed_by:provider', 'failed_by:gateway'],
      explore: { metric: 'errors', group: 'error_code' },
    },
    {
      title: 'Latency',
      about: 'until the last byte',
      look: 'lines',
      format: formatDuration,
      series: [
        drawn('p50', '--series-2', (point) => point.latency_p50),
        drawn('p90', '--series-1', (point) => point.latency_p90),
        drawn('p99', '--series-4', (point) => point.latency_p99),
        ...past((point) => point.latency_p90, 'p90 before'),
      ],
      explore: { metric: 'latency_p90', group: 'model' },
    },
    {
      title: 'Time to first byte',
      look: 'lines',
      format: formatDuration,
      series: [
        drawn('p50', '--series-2', (point) => point.first_byte_p50),
        drawn('p90', '--series-1', (point) => point.first_byte_p90),
        drawn('p99', '--series-4', (point) => point.first_byte_p99),
        ...past((point) => point.first_byte_p90, 'p90 before'),
      ],
      explore: { metric: 'first_byte_p90', group: 'model' },
    },
    {
      title: 'Tokens',
      look: 'areas',
      format: formatNumber,
      series: [
        drawn('input', '--series-5', (point) => most(point.input_tokens - point.cached_tokens)),
        drawn('cached input', '--series-2', (point) => point.cached_tokens),
        drawn('output', '--series-1', (point) => most(point.output_tokens - point.reasoning_tokens)),
        drawn('reasoning', '--series-6', (point) => point.reasoning_tokens),
        ...past((point) => point.total_tokens),
      ],
      terms: ['input_tokens:>0', 'cached_tokens:>0', 'output_tokens:>0', 'reasoning_tokens:>0'],
      explore: { metric: 'total_tokens', group: 'model' },
    },
    {
      title: 'Cost',
      look: 'bars',
      format: formatMoney,
      series: [drawn('cost', '--series-2', ({ cost }) => cost), ...past(({ cost }) => cost)],
      terms: ['cost:>0'],
      explore: { metric: 'cost', group: 'model' },
    },
  ];
}

const COLORS: Readonly<Record<string, string>> = {
  HIT: '--series-2',
  REFRESH: '--series-5',
  MISS: '--series-8',
  passed: '--series-2',
  failed: '--series-3',
  denied: '--bad-solid',
};
/** Those that neither the cache nor a guardrail saw are left out. */
function Told({ by, ...shared }: Shared & { readonly by: ToldBy }) {
  const { title, order } = TOLD[by];
  const data = useTold(by);
  const [times, series, about] = useMemo(() => {
    const found = order.flatMap((name: string) => data?.series.filter(({ group }) => group === name) ?? []);
    const seen = found.reduce((sum, { value }) => sum + (value ?? 0), 0);
    const first = found.find(({ group }) => group === order[by === 'verdict' ? 2 : 0])?.value ?? 0;
    const share = seen > 0 ? `${((first / seen) * 100).toFixed(1)} % ${by === 'verdict' ? 'denied' : 'hits'}` : '';
    return [
      data?.timestamps.map((timestamp) => ({ timestamp })) ?? [],
      found.map(({ group, points }) => ({ label: String(group), values: points, color: COLORS[String(group)] })),
      seen > 0 ? `${formatCount(seen, 'call')}, ${share}` : undefined,
    ] as const;
  }, [data, order, by]);
  if (!data) return null;
  if (series.length === 0)
    return (
      <Card title={title}>
        <p className="soft overview-none">
          {by === 'verdict' ? 'No guardrail looked at a call in this time.' : 'No call of this time asked the cache.'}
        </p>
      </Card>
    );
  return (
    <Chart
      {...{ title, about, series, times }}
      {...shared}
      look="bars"
      format={formatNumber}
      seconds={data.bucket_seconds}
      terms={series.map(({ label }) => dimensionOf(by).termOf?.(label) ?? null)}
      explore={{ metric: 'requests', group: by }}
    />
  );
}
