import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import type { Health } from '../core/health.ts';
import type { Sealer } from '../crypto/seal.ts';
import { openReader } from '../storage/reader.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import type { Store } from '../storage/store.ts';
import { type AuditReading, createAuditReading } from './reading.ts';
import { startSealing } from './sealing.ts';
import { type AuditTrail, createAuditTrail } from './trail.ts';

/** The audit log of a process: what it writes, what it seals, what people read. */
export interface Audit {
  readonly trail: AuditTrail;
  readonly reading: AuditReading;
  close(): Promise<void>;
}

export interface AuditOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly health: Health;
  readonly dataDir: string;
  /** The address of `storage/query-worker.ts`; given from outside because a compiled executable has its own. */
  readonly queryWorker: string | URL;
  readonly now: Clock;
}

const HEADS_FILE = 'audit-heads.json';

export function openAudit({ store, sealer, health, dataDir, queryWorker, now }: AuditOptions): Audit {
  const trail = createAuditTrail({ store, sealer, health });
  const reader = openReader({ store, dataDir, workerUrl: queryWorker });
  const sealing = startSealing({ store, sealer, health, now, publish: headKeeper(dataDir) });
  return {
    trail,
    reading: createAuditReading({ db: store.db, reader }),
    close: async () => {
      await trail.flush();
      await sealing.stop();
      reader.close();
    },
  };
}

/** Keeps the ends of the chains beside the database: whoever turns that back to an earlier state is found out. */
function headKeeper(dataDir: string): (head: AuditHeadRow) => void {
  const file = join(dataDir, HEADS_FILE);
  const heads = new Map(keptHeads(dataDir).map((head) => [head.organisation_id, head]));
  return (head) => {
    const before = heads.get(head.organisation_id);
    if (before && Number(before.number) >= Number(head.number)) return;
    heads.set(head.organisation_id, head);
    const aside = `${file}.${process.pid}.new`;
    try {
      writeFileSync(aside, `${JSON.stringify([...heads.values()])}\n`, { mode: 0o600 });
      renameSync(aside, file);
    } catch {
      // A full disk stops a lot, but not this: the chain in the database holds by itself.
    }
  };
}

/** The ends of chains that this machine has seen. */
export function keptHeads(dataDir: string): AuditHeadRow[] {
  try {
    return JSON.parse(readFileSync(join(dataDir, HEADS_FILE), 'utf8'));
  } catch {
    return [];
  }
}
