import type { Clock } from '../core/clock.ts';
import type { Health } from '../core/health.ts';
import type { Sealer } from '../crypto/seal.ts';
import { openReader } from '../storage/reader.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import type { Store } from '../storage/store.ts';
import { ChainGuard } from './guard.ts';
import { headsFile, keptHeads } from './heads-file.ts';
import { type AuditReading, createAuditReading } from './reading.ts';
import { startSealing } from './sealing.ts';
import { type AuditTrail, createAuditTrail } from './trail.ts';
import { type AuditVerification, createAuditVerification } from './verification.ts';
import { type HeadWitness, startWitnessing } from './witnessing.ts';

/** The audit log of a process: what it writes, what it seals, what people read. */
export interface Audit {
  readonly trail: AuditTrail;
  readonly reading: AuditReading;
  readonly verification: AuditVerification;
  /** Another process may have stored a record. */
  sealSoon(): void;
  close(): Promise<void>;
}

export interface AuditOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly health: Health;
  readonly dataDir: string;
  /** The address of `storage/query-worker.ts`; given from outside because a compiled executable has its own. */
  readonly queryWorker: string | URL;
  /** Where the ends of the log are kept outside of this installation. */
  readonly witnesses: readonly HeadWitness[];
  readonly now: Clock;
  /** Called for each call of a stranger that gets no record of its own. */
  readonly onLeftOut: () => void;
}

export async function openAudit(options: AuditOptions): Promise<Audit> {
  const { store, sealer, health, dataDir, queryWorker, witnesses, now, onLeftOut } = options;
  const guard = new ChainGuard({ store, sealer, health, kept: keptHeads(dataDir, store.engine) });
  const reader = openReader({ store, dataDir, workerUrl: queryWorker });
  const file = headsFile(dataDir, store.engine);
  const witnessing = startWitnessing({ witnesses, guard, health });
  // What witnesses know counts from the first change on, as far as they answer in time.
  await witnessing.asked;
  const publish = (heads: readonly AuditHeadRow[]) => {
    file.keep(heads);
    witnessing.keep(heads);
  };
  const sealing = startSealing({ store, sealer, guard, now, publish });
  await sealing.begun;
  const trail = createAuditTrail({ store, sealer, health, guard, now, onRecord: sealing.soon, onLeftOut });
  return {
    trail,
    reading: createAuditReading({ db: store.db, reader }),
    verification: createAuditVerification({ store, sealer, dataDir }),
    sealSoon: sealing.soon,
    close: async () => {
      await trail.flush();
      await sealing.stop();
      await file.flush();
      await witnessing.stop();
      reader.close();
    },
  };
}
