import type { Health } from '../../core/health.ts';
import type { Metrics } from '../metrics.ts';
import type { Exported } from './exporter.ts';
import type { OtelSettings } from './settings.ts';

type Counts = { -readonly [Name in 'sent' | 'dropped' | 'refused' | 'queued']: number };

/** Tells metrics and `/health` what becomes of spans and metrics. Destinations are named as the operator names them. */
export function exportsTo({ destinations }: OtelSettings, metrics: Metrics, health: Health) {
  const keyOf = ({ name, signal }: Pick<Exported, 'name' | 'signal'>) => `${name}/${signal}`;
  const counts = new Map<string, Counts>(
    destinations.map((each) => [keyOf(each), { sent: 0, dropped: 0, refused: 0, queued: 0 }]),
  );
  const troubles = new Map<string, string>();
  const show = (count: keyof Counts, name: string, help: string) =>
    metrics.gauges(name, help, 'destination', () => [...counts].map(([key, each]) => [key, each[count]] as const));
  show('sent', 'gateway_otel_sent', 'Spans and metrics that a destination has taken since the start.');
  show('dropped', 'gateway_otel_dropped', 'Those given up because a destination was away or too slow.');
  show('refused', 'gateway_otel_refused', 'Those that a destination did not want.');
  show('queued', 'gateway_otel_queue', 'Those that wait for a destination.');
  return (exported: Exported): void => {
    const key = keyOf(exported);
    const count = counts.get(key);
    if (!count) return;
    count.sent += exported.sent;
    count.dropped += exported.dropped;
    count.refused += exported.refused;
    count.queued = exported.queued;
    if (exported.trouble === null) troubles.delete(key);
    else troubles.set(key, exported.trouble);
    if (troubles.size === 0) {
      health.well('tracing');
      return;
    }
    const told = [...troubles].map(([destination, trouble]) => `${destination} ${trouble}`).join(', ');
    health.degraded('tracing', `Traces or metrics do not arrive: ${told}. Calls are answered all the same.`);
  };
}
