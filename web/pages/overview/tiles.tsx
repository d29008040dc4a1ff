import { formatCount, formatDuration, formatMoney, formatNumber } from '../../design/format.ts';
import { Delta, Stat } from '../../design/sparkline.tsx';
import { Skeleton } from '../../design/states.tsx';
import type { Figures } from './figures.ts';

const share = (value: number | null) => (value === null ? '–' : `${(value * 100).toFixed(value < 0.1 ? 2 : 1)} %`);
const duration = (value: number | null) => (value === null ? '–' : formatDuration(value));

/** The figures of the time in large, each with how it has changed. */
export function Tiles({ figures }: { readonly figures: Figures | null }) {
  if (!figures)
    return (
      <div className="overview-tiles">
        {Array.from({ length: 6 }, (_, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
          <div key={at} className="stat overview-waiting">
            <Skeleton lines={3} />
          </div>
        ))}
      </div>
    );
  const { summary, data_points: points } = figures.now;
  const before = figures.before?.summary ?? null;
  const unpriced = summary.requests_without_cost;
  const cached = summary.input_tokens > 0 ? summary.cached_tokens / summary.input_tokens : null;
  return (
    <div className="overview-tiles">
      <Stat
        label="Requests"
        value={formatNumber(summary.requests)}
        delta={<Delta now={summary.requests} before={before?.requests ?? null} />}
        about={before && `${formatNumber(before.requests)} before`}
        values={points.map(({ requests }) => requests)}
      />
      <Stat
        label="Failed"
        value={share(summary.error_rate)}
        delta={<Delta now={summary.error_rate} before={before?.error_rate ?? null} better="less" />}
        about={formatCount(summary.errors, 'error')}
        values={points.map(({ errors }) => errors)}
        color="--bad-solid"
      />
      <Stat
        label="Cost"
        value={formatMoney(summary.cost)}
        delta={<Delta now={summary.cost} before={before?.cost ?? null} better="less" />}
        about={
          unpriced > 0
            ? `${formatCount(unpriced, 'call')} without a price`
            : before && `${formatMoney(before.cost)} before`
        }
        values={points.map(({ cost }) => cost)}
        color="--series-2"
      />
      <Stat
        label="Tokens"
        value={formatNumber(summary.total_tokens)}
        delta={<Delta now={summary.total_tokens} before={before?.total_tokens ?? null} />}
        about={cached !== null && cached > 0 ? `${share(cached)} of input cached` : 'input and output'}
        values={points.map(({ total_tokens }) => total_tokens)}
        color="--series-5"
      />
      <Stat
        label="Latency, p90"
        value={duration(summary.latency_p90)}
        delta={<Delta now={summary.latency_p90} before={before?.latency_p90 ?? null} better="less" />}
        about={`p50 ${duration(summary.latency_p50)} · p99 ${duration(summary.latency_p99)}`}
        values={points.map(({ latency_p90 }) => latency_p90)}
        color="--series-6"
      />
      <Stat
        label="First byte, p90"
        value={duration(summary.first_byte_p90)}
        delta={<Delta now={summary.first_byte_p90} before={before?.first_byte_p90 ?? null} better="less" />}
        about={`p50 ${duration(summary.first_byte_p50)} · p99 ${duration(summary.first_byte_p99)}`}
        values={points.map(({ first_byte_p90 }) => first_byte_p90)}
        color="--series-3"
      />
    </div>
  );
}
