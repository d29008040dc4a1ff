import type { Principal, WorkCaller } from '../core/principal.ts';
import type { Tokens } from '../core/tokens.ts';
import type { Files } from '../files/files.ts';
import type { CallModel } from '../relay/internal.ts';
import type { WorkProofs } from '../relay/work-proofs.ts';
import type { Changes } from '../storage/changes.ts';
import type { Store } from '../storage/store.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import type { Kind } from '../work/work.ts';
import type { Workers } from '../work/workers.ts';
import { type Assistants, createAssistants } from './assistants.ts';
import { createToolChecks } from './check-tools.ts';
import { clearThreadKind } from './clearing.ts';
import { createMessages, type Messages } from './messages.ts';
import type { BuiltInTools } from './runs/built-in.ts';
import { createRunBus } from './runs/bus.ts';
import { DeltaWriter } from './runs/delta-writer.ts';
import { imageReader } from './runs/images.ts';
import { runKind } from './runs/kind.ts';
import { refuseMessages, refuseSecondRun } from './runs/rows.ts';
import { createRuns, type Runs } from './runs/runs.ts';
import { createThreads, type Threads } from './threads.ts';
import { createStores } from './vector-stores/stores.ts';
import { createToolStores } from './vector-stores/tool-stores.ts';

export interface AssistantsApiDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'notify' | 'onNotify'>;
  readonly files: Files;
  readonly callModel: CallModel;
  readonly proofs: Pick<WorkProofs, 'seal' | 'open'>;
  /** Throws 401 when the caller that began the run is gone or has expired. */
  readonly principalOf: (caller: WorkCaller) => Promise<Principal>;
  /** They need the kinds, so they come after them. */
  readonly workers: () => Workers;
  readonly metrics: Pick<Metrics, 'counter'>;
  readonly runSeconds: number;
  readonly builtIns?: BuiltInTools;
  readonly tokens: Tokens;
  /** Absent or null: nothing is traced. */
  readonly addSpan?: RequestLog['addSpan'];
  readonly now: () => number;
}

export interface AssistantsApi {
  readonly assistants: Assistants;
  readonly threads: Threads;
  readonly messages: Messages;
  readonly runs: Runs;
  /** The work that runs are, and what deleted threads leave to do. */
  readonly kinds: readonly Kind[];
}

/** Assistants, threads, messages and runs, put together. */
export function createAssistantsApi(deps: AssistantsApiDeps): AssistantsApi {
  const { store, files, workers, metrics, builtIns = {}, addSpan = null, now } = deps;
  const adding = { store, workers, proofs: deps.proofs, now };
  const toolStores = createToolStores({ ...adding, stores: createStores(adding) });
  const { check, attach } = createToolChecks({
    builtIns,
    checkFile: async (...file) => void (await files.find(...file)),
    toolStores,
  });
  const { settle } = toolStores;
  const assistants = createAssistants({ store, check, settle, now });
  const messages = createMessages({
    store,
    refuseActiveRun: refuseMessages,
    checkFile: async (...file) => void (await files.find(...file)),
    attach,
    now,
  });
  const threads = createThreads({ store, messages, check, settle, refuseActiveRun: refuseSecondRun, workers, now });
  const bus = createRunBus({ changes: deps.changes, engine: store.engine });
  const runs = createRuns({
    store,
    bus,
    workers,
    assistants,
    threads,
    messages,
    check,
    proofs: deps.proofs,
    livesMs: deps.runSeconds * 1_000,
    addSpan,
    now,
  });
  const repeated = metrics
    .counter(
      'gateway_run_calls_repeated_total',
      'Model calls of runs that were made again because their outcome is unknown; the provider may bill them twice.',
    )
    .at();
  const kind = runKind({
    store,
    bus,
    deltas: new DeltaWriter({ store, bus }),
    callModel: deps.callModel,
    proofs: deps.proofs,
    principalOf: deps.principalOf,
    readImage: imageReader(files),
    tokens: deps.tokens,
    builtIns,
    addSpan,
    runs: () => runs,
    onRepeated: () => {
      repeated.value++;
    },
    now,
  });
  return { assistants, threads, messages, runs, kinds: [kind, clearThreadKind(store)] };
}
