import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import type { WorkspaceId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import { ownFile } from '../core/program.ts';
import { startSweeper } from '../core/sweeper.ts';
import type { Tokens } from '../core/tokens.ts';
import type { Files } from '../files/files.ts';
import type { ModelCall } from '../relay/call.ts';
import type { Hosted } from '../relay/hosted/hosted.ts';
import type { ServedBy } from '../relay/hosted/served/served.ts';
import type { WorkProofs } from '../relay/work-proofs.ts';
import type { Configs } from '../routing/configs.ts';
import type { Endings } from '../storage/ending.ts';
import type { Db } from '../storage/store.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { type AssistantsApiDeps, createAssistantsApi } from './api.ts';
import { createDocumentReader } from './documents/reader.ts';
import { assistantEndings } from './endings.ts';
import { containerRoutes } from './interpreter/container-routes.ts';
import { createContainers } from './interpreter/containers.ts';
import { createHostedInterpreter } from './interpreter/hosted.ts';
import { createInterpreter } from './interpreter/interpreter.ts';
import { type InterpreterSettings, openSandbox } from './interpreter/open-sandbox.ts';
import { createPrograms } from './interpreter/programs.ts';
import { assistantRoutes } from './routes.ts';
import { vectorStoreEndings } from './vector-stores/endings.ts';
import { createPictures, type VisionSettings } from './vector-stores/pictures.ts';
import type { EmbeddingSettings } from './vector-stores/search/embeddings.ts';
import { createFileSearchParts } from './vector-stores/search/file-search.ts';
import { createHostedFileSearch } from './vector-stores/search/hosted.ts';
import { openChunks } from './vector-stores/search/open-chunks.ts';
import { openOwnModel } from './vector-stores/search/own/own-model.ts';
import { startChunkSweeper } from './vector-stores/search/sweeper.ts';
import { createFileSearch } from './vector-stores/search/tool.ts';
import { createVectorStores } from './vector-stores/vector-stores.ts';

export interface AssistantsParts extends Tools, Pick<AssistantsApiDeps, 'callModel' | 'principalOf' | 'metrics'> {
  readonly files: Files;
  readonly log: RequestLog;
  /** Takes what is to be done when a file goes. */
  readonly detachFiles: (by: (db: Db, fileId: string) => Promise<void>) => void;
  readonly proofs: WorkProofs;
  readonly virtualKeys: VirtualKeys;
  readonly counter: Tokens;
  /** Takes tools that calls of the Responses API can use. */
  readonly hosted: Pick<Hosted, 'offer'>;
  readonly configs: Configs;
  readonly relay: (call: ModelCall) => Promise<Response>;
  readonly workspaceAsCaller: (id: WorkspaceId) => Promise<Principal>;
  readonly settings: {
    readonly runSeconds: number;
    readonly interpreter: InterpreterSettings;
    /** By what vector stores find meaning. Null: by a model that is installed beside the gateway, or by words alone. */
    readonly embeddings: EmbeddingSettings | null;
    /** Where that model is installed; null: beside the gateway, if anywhere. */
    readonly embeddingsFolder: string | null;
    /** Models that help searches of vector stores: one that puts passages in order, and one that rewrites queries. */
    readonly searchModels: { readonly rerank: ServedBy | null; readonly rewrite: ServedBy | null };
    /** By what pictures in vector stores become text. Null: they are not read. */
    readonly vision: VisionSettings | null;
    /** From so many chunks on, a search by meaning may miss some of the nearest. */
    readonly approximateFrom: number;
  };
}

const CONTAINERS_SWEPT_MS = 600_000;

/** Assistants with their threads, runs, vector stores and tools. */
export const assistantsArea = area({
  name: 'assistants',
  open: async (parts: AssistantsParts) => {
    // Runs write often and little, and many of them at once.
    const { groupedStore: store, databaseUrl, dataDir, files, workers, changes, health, metrics, now } = parts;
    const { callModel, proofs, principalOf, workspaceAsCaller, virtualKeys, configs, relay, settings } = parts;
    const sandbox = await openSandbox(settings.interpreter, dataDir);
    const chunks = openChunks({
      store: parts.store,
      databaseUrl,
      dataDir,
      workerUrl: ownFile('assistants/vector-stores/search/search-worker'),
      approximateFrom: settings.approximateFrom,
    });
    const own = openOwnModel({
      folder: settings.embeddingsFolder,
      workerUrl: ownFile('assistants/vector-stores/search/own/embedding-worker'),
    });
    const reader = createDocumentReader();
    const resolveKey = async (who: Principal, slug: string) => virtualKeys.resolve(who, slug);
    const fileSearch = createFileSearchParts({
      ...{ store, chunks, callModel, health, workspaceAsCaller, own, now },
      embeddings: settings.embeddings,
      rerankBy: settings.searchModels.rerank,
      rewriteBy: settings.searchModels.rewrite,
      resolveKey,
    });
    const pictures =
      settings.vision && createPictures({ settings: settings.vision, callModel, workspaceAsCaller, resolveKey });
    /** Whether files of the workspace are shown to any model, which guardrails judge. */
    const embeds = async (id: WorkspaceId) =>
      (await fileSearch.embeds(id)) || (pictures !== null && (await pictures.readsFor(id)));
    const vectorStores = createVectorStores({
      ...{ store, files, ...fileSearch, embeds, reader, pictures, workers, proofs, now },
    });
    parts.detachFiles((db, fileId) => vectorStores.files.detach(db, fileId));
    const searching = { store, search: fileSearch.search, used: vectorStores.stores.touch, now };
    parts.hosted.offer('file_search', createHostedFileSearch(searching));
    const interpreter = sandbox && {
      ...{ store, files, sandbox, now },
      cellSeconds: settings.interpreter.cellSeconds,
      memoryMb: settings.interpreter.memoryMb,
      report: (problem: string) => parts.report('of a code interpreter', new Error(problem)),
    };
    const containers = createContainers({ store, files, now });
    parts.hosted.offer(
      'code_interpreter',
      createHostedInterpreter(interpreter && { ...interpreter, containers, publicUrl: parts.publicUrl }),
    );
    const { kinds, ...api } = createAssistantsApi({
      ...{ store, changes, files, callModel, proofs, principalOf, workers, metrics, now },
      tokens: parts.counter,
      addSpan: parts.log.addSpan,
      runSeconds: settings.runSeconds,
      builtIns: {
        file_search: createFileSearch(searching),
        ...(interpreter && { code_interpreter: createInterpreter(interpreter) }),
      },
    });
    return {
      gives: { programs: interpreter && createPrograms(interpreter) },
      routes: [
        ...assistantRoutes({
          ...{ ...api, vectorStores, virtualKeys, configs, proofs, principalOf, relay },
          store: parts.store,
        }),
        ...containerRoutes({ containers, files, memoryMb: interpreter ? interpreter.memoryMb : null }),
      ],
      work: [...vectorStores.kinds, ...kinds],
      sweepers: [
        () => startChunkSweeper({ store: parts.store, chunks }),
        () => startSweeper({ what: 'containers', everyMs: CONTAINERS_SWEPT_MS, sweep: containers.sweep }),
      ],
      ends: both(assistantEndings({ store, workers }), vectorStoreEndings({ chunks })),
      close: async () => {
        await sandbox?.stop();
        chunks.close();
        own?.close();
        reader.close();
      },
    };
  },
});

const both = (first: Endings, second: Endings): Endings => ({
  endsWithWorkspace: [...first.endsWithWorkspace, ...second.endsWithWorkspace],
  endsWithUser: [...first.endsWithUser, ...second.endsWithUser],
});
