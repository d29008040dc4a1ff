import type { Health } from '../../core/health.ts';
import type { Registry } from '../metrics/registry.ts';
import type { Exported } from './exporter.ts';
import type { OtelSettings } from './settings.ts';

const LABELS = ['destination'];

/** Tells metrics and `/health` what becomes of spans and metrics. Destinations are named as the operator names them. */
export function exportsTo({ destinations }: OtelSettings, metrics: Registry, health: Health) {
  const keyOf = ({ name, signal }: Pick<Exported, 'name' | 'signal'>) => `${name}/${signal}`;
  const sent = metrics.counter('gateway_otel_sent_total', 'Spans and metrics that a destination has taken.', LABELS);
  const dropped = metrics.counter(
    'gateway_otel_dropped_total',
    'Those given up because a destination was away or too slow.',
    LABELS,
  );
  const refused = metrics.counter('gateway_otel_refused_total', 'Those that a destination did not want.', LABELS);
  const queued = new Map(destinations.map((each) => [keyOf(each), 0]));
  metrics.gauges('gateway_otel_queue', 'Those that wait for a destination.', 'destination', () => queued);
  for (const key of queued.keys()) for (const family of [sent, dropped, refused]) family.at(key);
  const troubles = new Map<string, string>();
  return (exported: Exported): void => {
    const key = keyOf(exported);
    if (!queued.has(key)) return;
    sent.at(key).value += exported.sent;
    dropped.at(key).value += exported.dropped;
    refused.at(key).value += exported.refused;
    queued.set(key, exported.queued);
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
