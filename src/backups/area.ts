import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import { openBackupBucket } from './bucket.ts';
import { backupInChild } from './child.ts';
import { startSchedule } from './schedule.ts';
import type { BackupSettings } from './settings.ts';

export interface BackupParts extends Tools {
  readonly metrics: Metrics;
  readonly settings: { readonly backup: BackupSettings };
}

/** Backups of the embedded store that are made without being asked for. */
export const backupsArea = area({
  name: 'backups',
  open: ({ metrics, settings, upstream, now, health, dataDir }: BackupParts) => {
    const { bucket: place, everyMs } = settings.backup;
    if (!place) return { gives: {} };
    const made = metrics.counter('gateway_backups_total', 'Attempts at a backup, by how they ended.', ['outcome']);
    let newestAt: number | null = null;
    metrics.gauge(
      'gateway_backup_newest_timestamp_seconds',
      'When the newest whole backup in the bucket was begun; 0: none is known.',
      () => (newestAt ?? 0) / 1000,
    );
    for (const outcome of ['made', 'made_not_tidy', 'failed']) made.at(outcome);
    const bucket = openBackupBucket({ place, upstream, now });
    const report = (problem: string) => void process.stderr.write(`GATEWAY_BACKUP_URL: ${problem}\n`);
    const schedule = () =>
      startSchedule({
        ...{ everyMs, dataDir, health, now, report, newest: bucket.newest },
        make: (signal) => backupInChild(signal, report),
        onOutcome: (outcome) => {
          made.at(outcome).value++;
        },
        onNewest: (at) => {
          newestAt = at;
        },
      });
    return { gives: {}, sweepers: [schedule] };
  },
});
