import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import { ownFile } from '../core/program.ts';
import { TOPICS } from '../storage/changes.ts';
import { openAudit } from './audit.ts';
import { auditEndings } from './endings.ts';
import type { HeadWitness } from './witnessing.ts';

export interface AuditParts extends Tools {
  /** Where the ends of the log are kept outside of this installation. */
  readonly witnesses: readonly HeadWitness[];
  readonly metrics: { leftOut(of: 'audit'): void };
}

/** Who changed what. */
export const auditArea = area({
  name: 'audit',
  open: async ({ store, changes, sealer, health, dataDir, witnesses, metrics, now }: AuditParts) => {
    const { trail, reading, verification, sealSoon, close } = await openAudit({
      ...{ store, sealer, health, dataDir, witnesses, now },
      queryWorker: ownFile('storage/query-worker'),
      onLeftOut: () => metrics.leftOut('audit'),
    });
    // A command that changes something has no node of its own that would seal its records.
    for (const topic of TOPICS) changes.subscribe(topic, sealSoon);
    return {
      gives: {
        ...{ trail, auditLog: reading, auditVerification: verification },
        note: trail.note,
        noteWith: trail.noteWith,
      },
      ends: auditEndings,
      close,
    };
  },
});
