import { join } from 'node:path';
import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { Health } from '../core/health.ts';
import { ownFile } from '../core/program.ts';
import { type EgressProxy, postedProxy } from '../http/proxy.ts';
import type { FigureOptions } from './aggregates/options.ts';
import { analyticsRoutes } from './analytics/routes.ts';
import { logEndings } from './endings.ts';
import { migrateSqliteLog } from './log-migrate.ts';
import { openLogPort } from './log-port.ts';
import type { LogTarget } from './log-store.ts';
import type { LogOutcome } from './log-writer.ts';
import type { Metrics } from './metrics/metrics.ts';
import { exportsTo } from './otel/reporting.ts';
import { createTracing } from './otel/sampler.ts';
import type { OtelSettings } from './otel/settings.ts';
import { createRequestLog } from './request-log.ts';
import { telemetryRoutes } from './routes.ts';
import { type SearchedWorkspaces, searchesAny, searchesOf } from './search/chosen.ts';
import { logSessionRoutes } from './sessions/routes.ts';

export interface TelemetryParts extends Tools {
  readonly metrics: Metrics;
  readonly settings: {
    readonly logRetentionDays: number;
    readonly analytics: FigureOptions;
    readonly logBodies: boolean;
    readonly logBodyBytes: number;
    readonly logSearch: SearchedWorkspaces;
    readonly otel: OtelSettings | null;
    readonly egressProxy: EgressProxy | null;
    /** Null: entries are exported nowhere. */
    readonly logExport: object | null;
  };
}

/** The request log, what is drawn from it, and the metrics. */
export const telemetryArea = area({
  name: 'telemetry',
  open: async ({ store, databaseUrl, dataDir, health, metrics, prices, version, settings }: TelemetryParts) => {
    const { otel } = settings;
    const target: LogTarget = databaseUrl
      ? { engine: 'postgres', url: databaseUrl }
      : { engine: 'sqlite', file: join(dataDir, 'logs.db') };
    // Its thread would do it, too, and load for that what it never needs again.
    if (target.engine === 'sqlite') await migrateSqliteLog(target.file).catch(() => {});
    const log = createRequestLog({
      worker: openLogPort({
        workerUrl: ownFile('telemetry/log-worker'),
        target,
        dataDir,
        retentionDays: settings.logRetentionDays,
        figures: settings.analytics,
        searches: searchesAny(settings.logSearch),
        isExported: settings.logExport !== null,
        onOutcome: (outcome) => reportLog(outcome, metrics, health),
        otel: otel && { otel, version, proxy: postedProxy(settings.egressProxy) },
        onExported: otel ? exportsTo(otel, metrics, health) : undefined,
      }),
      metrics,
      prices,
      now: () => performance.now(),
      bodies: {
        enabled: settings.logBodies,
        capBytes: settings.logBodyBytes,
        searches: searchesOf(settings.logSearch),
      },
      tracing: otel && createTracing(otel.sampler, hasTraces(otel)),
    });
    return {
      gives: { log },
      routes: [
        ...telemetryRoutes({ log, metrics, prices, store, searched: settings.logSearch }),
        ...logSessionRoutes({ log, store }),
        ...analyticsRoutes({ log, store }),
      ],
      ends: logEndings(log),
      close: async () => {
        await log.flush();
        await log.close();
      },
    };
  },
});

const hasTraces = ({ destinations }: OtelSettings) => destinations.some(({ signal }) => signal === 'traces');

function reportLog(outcome: Partial<LogOutcome>, metrics: Metrics, health: Health) {
  const { written = 0, spooled = 0, dropped = 0, bodiesDropped = 0 } = outcome;
  metrics.logged('written', written);
  metrics.logged('spooled', spooled);
  metrics.logged('dropped', dropped);
  metrics.bodiesDropped(bodiesDropped);
  if (dropped > 0)
    health.degraded('log', 'Entries of the request log are being lost: neither store nor disk takes them.');
  else if (spooled > 0) health.degraded('log', 'Entries of the request log wait on disk until the store takes them.');
  else if (written > 0) health.well('log');
}
