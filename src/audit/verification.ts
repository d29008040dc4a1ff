import type { Sealer } from '../crypto/seal.ts';
import type { Store } from '../storage/store.ts';
import { endOf } from './chain-end.ts';
import { keptHeads } from './heads-file.ts';
import type { Break } from './record-check.ts';
import { type Verdict, verifyChain } from './verify.ts';

/** How far the log has been gone through, and in the end what was found. */
export interface VerificationStep {
  readonly object: 'audit_log.verification';
  readonly status: 'running' | 'whole' | 'broken';
  /** That hold so far. */
  readonly records: number;
  /** That there were when it began. */
  readonly total: number;
  /** Stored and not in the chain yet. */
  readonly unsealed: number;
  readonly broken: Break | null;
  /** Records at which an operator went on without what was lost. */
  readonly restarts: readonly string[];
}

export interface AuditVerification {
  /** A step from time to time, the last one with what was found. A caller that stops asking lets go of it. */
  follow(organisationId: string): AsyncGenerator<VerificationStep>;
}

interface Run {
  records: number;
  followers: number;
  readonly total: number;
  readonly verdict: Promise<Verdict>;
}

/** Calls go on meanwhile: few batches at once, and as much rest as work. */
const BATCHES_AT_ONCE = 10;
const STEP_MS = 250;

/**
 * Goes through the log of a running gateway as `gateway audit verify` does. One at a time: callers that come meanwhile follow the
 * same one, and it ends when no caller follows it any more.
 */
export function createAuditVerification(options: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly dataDir: string;
}): AuditVerification {
  const { store, sealer, dataDir } = options;
  const running = new Map<string, Promise<Run>>();

  const begin = async (organisationId: string): Promise<Run> => {
    const { records: total } = await endOf(store.db, organisationId);
    const knownHeads = keptHeads(dataDir, store.engine).filter((head) => head.organisation_id === organisationId);
    let since = performance.now();
    const onProgress = async (records: number) => {
      run.records = records;
      if (run.followers === 0) throw new Error('Nobody asks any more.');
      await Bun.sleep(performance.now() - since);
      since = performance.now();
    };
    const run: Run = {
      ...{ records: 0, followers: 0, total },
      // Begins in the next turn, when the run is there and followed.
      verdict: Bun.sleep(0).then(() =>
        verifyChain({ db: store.db, sealer, organisationId, knownHeads, batchesAtOnce: BATCHES_AT_ONCE, onProgress }),
      ),
    };
    run.verdict.catch(() => {}).finally(() => running.delete(organisationId));
    return run;
  };

  return {
    async *follow(organisationId) {
      let beginning = running.get(organisationId);
      if (!beginning) {
        beginning = begin(organisationId);
        running.set(organisationId, beginning);
        beginning.catch(() => running.delete(organisationId));
      }
      const run = await beginning;
      run.followers++;
      try {
        for (;;) {
          const verdict = await Promise.race([run.verdict, Bun.sleep(STEP_MS).then(() => null)]);
          yield stepOf(run, verdict);
          if (verdict) return;
        }
      } finally {
        run.followers--;
      }
    },
  };
}

const stepOf = ({ records, total }: Run, verdict: Verdict | null): VerificationStep => ({
  object: 'audit_log.verification',
  status: verdict === null ? 'running' : verdict.broken ? 'broken' : 'whole',
  records: verdict?.records ?? records,
  total: Math.max(total, verdict?.records ?? 0),
  unsealed: verdict?.unsealed ?? 0,
  broken: verdict?.broken ?? null,
  restarts: verdict?.restarts.map(({ record }) => record) ?? [],
});
