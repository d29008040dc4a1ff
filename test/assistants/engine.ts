import { type AssistantsApi, createAssistantsApi } from '../../src/assistants/api.ts';
import type { BuiltInTools } from '../../src/assistants/runs/built-in.ts';
import type { OrganisationId, WorkspaceId } from '../../src/core/ids.ts';
import type { Principal } from '../../src/core/principal.ts';
import { estimateTokens } from '../../src/core/tokens.ts';
import type { Files } from '../../src/files/files.ts';
import { NOTHING_PROVEN } from '../../src/guardrails/proof.ts';
import type { CallModel } from '../../src/relay/internal.ts';
import { createChanges } from '../../src/storage/changes.ts';
import type { Store } from '../../src/storage/store.ts';
import { createRegistry } from '../../src/telemetry/metrics/registry.ts';
import type { Timing } from '../../src/work/work.ts';
import { createWorkers, type Workers } from '../../src/work/workers.ts';

export const workspaceId = 'workspace' as WorkspaceId;

export const principal: Principal = {
  organisationId: 'organisation' as OrganisationId,
  workspaceId,
  workspaceSlug: 'default',
  keyId: 'key' as Principal['keyId'],
  keyName: 'key',
  userId: null,
  scopes: new Set(),
  defaults: {},
  limits: [],
};

export interface EngineOptions {
  readonly store: Store;
  readonly databaseUrl: string | null;
  readonly callModel: CallModel;
  readonly name?: string;
  readonly builtIns?: BuiltInTools;
  readonly timing?: Partial<Timing>;
  readonly isAlone?: boolean;
}

export interface Engine extends AssistantsApi {
  readonly workers: Workers;
  readonly errors: readonly string[];
  /** Calls that were made again. */
  repeated(): number;
  start(): Promise<void>;
  stop(graceMs: number): Promise<void>;
}

/** Assistants and their runs on a store, without the rest of a gateway. Not started, it creates and reads. */
export function createEngine(options: EngineOptions): Engine {
  const { store, databaseUrl, callModel, name = 'node', builtIns, timing, isAlone } = options;
  const health = { degraded: () => {}, well: () => {}, snapshot: () => [], noteBy: () => {}, notes: () => [] };
  const changes = createChanges({ store, databaseUrl, health });
  const errors: string[] = [];
  const metrics = createRegistry();
  const api = createAssistantsApi({
    store,
    changes,
    files: { find: async () => ({}) } as unknown as Files,
    callModel,
    proofs: { seal: () => null, open: () => NOTHING_PROVEN },
    principalOf: async () => principal,
    workers: () => workers,
    metrics,
    tokens: { count: async (_model, texts) => texts.map(estimateTokens), close: () => {} },
    runSeconds: 600,
    builtIns,
    now: Date.now,
  });
  const workers: Workers = createWorkers({
    store,
    node: name,
    kinds: api.kinds,
    wake: changes,
    timing,
    isAlone,
    onError: (what, error) => errors.push(`${what}: ${error}`),
  });
  return {
    ...api,
    workers,
    errors,
    repeated: () => {
      const [family] = metrics.snapshot();
      return family?.type === 'counter' ? (family.series[0]?.value ?? 0) : 0;
    },
    start: async () => {
      await changes.start();
      await workers.start();
    },
    stop: async (graceMs) => {
      await workers.stop(graceMs);
      await changes.close();
    },
  };
}
