import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import type { Health } from '../core/health.ts';
import type { Db } from '../storage/store.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import type { Kind, Lease } from '../work/work.ts';
import type { Workers } from '../work/workers.ts';
import type { ExportBucket } from './bucket.ts';
import type { ExportSettings } from './settings.ts';

export interface ExportDeps {
  readonly settings: Pick<ExportSettings, 'format' | 'withBodies' | 'everyMs'>;
  readonly log: Pick<RequestLog, 'pack' | 'shipped'>;
  readonly bucket: ExportBucket;
  readonly health: Health;
  readonly workers: () => Workers;
  readonly organisationId: string;
  /** Where files are laid until they are sent. */
  readonly folder: string;
  readonly onShipped: (entries: number) => void;
}

const EXPORT = 'log-export';
const ENTRIES_PER_SHIPMENT = 5_000;
const FAILING = 'Entries of the request log are not being exported; they wait until the bucket takes them.';

/** Sends what waits, and comes again after a while. One row of work for the whole installation; it never ends. */
export function exportKind(deps: ExportDeps): Kind {
  const { settings, workers, organisationId, health } = deps;
  return {
    name: EXPORT,
    concurrency: 1,
    // A bucket may be away for days.
    maxAttempts: Number.MAX_SAFE_INTEGER,
    run: async (lease) => {
      await shipAll(lease, deps);
      await lease.transaction(async (db) => {
        // Nodes that start at the same moment may each have put one down.
        if (await isSpare(db, lease.work.id)) return lease.done(db);
        return lease.reschedule(db, { afterMs: settings.everyMs });
      });
    },
    failed: async () => {},
    cancelled: async () => {},
    sweep: async (db) => {
      const rows = await db.selectFrom('work').select(['id', 'last_error']).where('kind', '=', EXPORT).execute();
      if (rows.length === 0) await workers().enqueue(db, { kind: EXPORT, tenant: organisationId, ref: EXPORT });
      if (rows.some(({ last_error }) => last_error !== null)) health.degraded('export', FAILING);
      else health.well('export');
    },
  };
}

async function shipAll({ signal }: Lease, { settings, log, bucket, folder, onShipped }: ExportDeps): Promise<void> {
  const { format, withBodies } = settings;
  for (;;) {
    signal.throwIfAborted();
    const shipment = await log.pack({ format, withBodies, folder, atMost: ENTRIES_PER_SHIPMENT });
    if (!shipment) return;
    try {
      const { entries } = await bucket.put(shipment, format, signal);
      await log.shipped(shipment.name);
      onShipped(entries);
    } catch (error) {
      if (error instanceof GatewayError) process.stderr.write(`GATEWAY_EXPORT_URL: ${error.message}\n`);
      throw error;
    } finally {
      rmSync(join(folder, shipment.name), { recursive: true, force: true });
    }
  }
}

async function isSpare(db: Db, id: string): Promise<boolean> {
  const first = await db.selectFrom('work').select('id').where('kind', '=', EXPORT).orderBy('id').executeTakeFirst();
  return first !== undefined && first.id !== id;
}
