import { assistantEndings } from './assistants/endings.ts';
import { type VectorStoreEndingDeps, vectorStoreEndings } from './assistants/vector-stores/endings.ts';
import { auditEndings } from './audit/endings.ts';
import { authEndings } from './auth/endings.ts';
import { batchEndings } from './batches/endings.ts';
import { createEndings, type EndingsOf } from './endings/endings.ts';
import { type FileEndingDeps, fileEndings } from './files/endings.ts';
import { fineTuningEndings } from './fine-tuning/endings.ts';
import { guardrailEndings } from './guardrails/endings.ts';
import { responseEndings } from './inference/endings.ts';
import { limitEndings } from './limits/endings.ts';
import { mcpEndings } from './mcp/endings.ts';
import { thoughtEndings } from './relay/endings.ts';
import { configEndings } from './routing/endings.ts';
import { announceChange } from './storage/changes.ts';
import type { Endings } from './storage/ending.ts';
import type { Store } from './storage/store.ts';
import { type TelemetryEndingDeps, telemetryEndings } from './telemetry/endings.ts';
import { webhookEndings } from './webhooks/endings.ts';
import { createWorkers, type Workers } from './work/workers.ts';

export interface OwnerDeps extends FileEndingDeps, VectorStoreEndingDeps, Pick<TelemetryEndingDeps, 'log'> {
  readonly store: Store;
  readonly workers: () => Workers;
}

/**
 * Whose each table is: what every area does when a workspace is deleted or a person is forgotten. What writes comes
 * before what is written, and the log, in which all of it is told, at the end; who may come in goes last of what goes at
 * once, because the others refer to it.
 */
export const rowOwners = (deps: OwnerDeps): Endings[] => [
  assistantEndings(deps),
  batchEndings(deps),
  fineTuningEndings(deps),
  responseEndings(deps.store),
  thoughtEndings(deps.store),
  vectorStoreEndings(deps),
  fileEndings(deps),
  telemetryEndings(deps),
  webhookEndings,
  limitEndings(deps.store),
  mcpEndings,
  guardrailEndings,
  configEndings,
  authEndings,
  auditEndings,
];

/** For commands, which end workspaces and leave it to the nodes to remove what is left. */
export function endingsForCommand(
  store: Store,
  sealer: Parameters<typeof createEndings>[0]['sealer'],
): Pick<EndingsOf, 'endWorkspace'> {
  const leftToNodes = () => {
    throw new Error('A command removes nothing by itself; a running gateway does.');
  };
  const endings = createEndings({
    store,
    sealer,
    areas: rowOwners({
      store,
      workers: () => workers,
      blobs: undefined as never,
      chunks: undefined as never,
      log: undefined as never,
      detach: leftToNodes,
    }),
    abroad: [],
    virtualKeys: { resolve: leftToNodes, opened: leftToNodes },
    workspaceAsCaller: leftToNodes,
    findPerson: leftToNodes,
    transaction: leftToNodes,
    changes: { announce: async (db, topic) => void (await announceChange(db, store.engine, topic)) },
    workers: () => workers,
    now: Date.now,
  });
  const kinds = [{ ...endings.kind, concurrency: 0 }];
  const workers: Workers = createWorkers({ store, node: 'command', kinds, onError: () => {} });
  return endings;
}
