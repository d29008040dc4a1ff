import { join } from 'node:path';
import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { openBucket } from './bucket.ts';
import { exportKind } from './export-kind.ts';
import type { ExportSettings } from './settings.ts';

export interface ExportParts extends Tools {
  readonly log: RequestLog;
  readonly metrics: Metrics;
  readonly settings: { readonly logExport: ExportSettings | null };
}

/** The request log in object storage. */
export const exportsArea = area({
  name: 'exports',
  open: ({ log, metrics, settings, upstream, now, health, workers, organisationId, dataDir }: ExportParts) => {
    const { logExport } = settings;
    if (!logExport) return { gives: {} };
    const exported = metrics.counter('gateway_log_exported_total', 'Entries that were put into the bucket.');
    const bucket = openBucket({ place: logExport.bucket, upstream, now });
    const folder = join(dataDir, 'exports');
    const onShipped = (entries: number) => {
      exported.at().value += entries;
    };
    const deps = { settings: logExport, log, bucket, health, workers, organisationId, folder, onShipped };
    return { gives: {}, work: [exportKind(deps)] };
  },
});
