import { GatewayError } from '../../../core/errors.ts';
import type { Health } from '../../../core/health.ts';
import type { WorkspaceId } from '../../../core/ids.ts';
import type { Principal } from '../../../core/principal.ts';
import type { ServedBy } from '../../../relay/hosted/served/served.ts';
import type { CallModel } from '../../../relay/internal.ts';
import type { Store } from '../../../storage/store.ts';
import type { ChunkIndex } from '../chunk-index.ts';
import type { ChunkStore } from './chunk-store.ts';
import { createEmbeddings, type EmbeddingSettings, patient } from './embeddings.ts';
import { createChunkIndex } from './indexing.ts';
import { OWN_MODEL, type OwnModel } from './own/own-model.ts';
import { createRerank } from './reranking.ts';
import { createRewrite, type Rewrite } from './rewriting.ts';
import { createSearch, type Search } from './search.ts';
import { createServedModel } from './served-model.ts';

export interface FileSearchParts {
  readonly index: ChunkIndex;
  readonly search: Search;
  /** Null: queries are searched for as they are. */
  readonly rewrite: Rewrite | null;
  /** Whether files that the workspace adds are shown to an embedding model of a provider. */
  readonly embeds: (workspaceId: WorkspaceId) => Promise<boolean>;
}

export interface FileSearchPartsDeps {
  readonly store: Store;
  readonly chunks: ChunkStore;
  readonly embeddings: EmbeddingSettings | null;
  /** The model that puts passages in order; null: our own ranking does. */
  readonly rerankBy: ServedBy | null;
  /** The model that rewrites queries. */
  readonly rewriteBy: ServedBy | null;
  readonly own: OwnModel | null;
  readonly callModel: CallModel;
  readonly workspaceAsCaller: (workspaceId: WorkspaceId) => Promise<Principal>;
  readonly resolveKey: (who: Principal, slug: string) => Promise<unknown>;
  readonly health: Pick<Health, 'degraded' | 'well'>;
  readonly now: () => number;
}

/** What takes files in and what finds them, put together. */
export function createFileSearchParts({
  embeddings: settings,
  rerankBy,
  rewriteBy,
  ...deps
}: FileSearchPartsDeps): FileSearchParts {
  const embeddings = createEmbeddings({ settings, ...deps });
  return {
    index: createChunkIndex({ ...deps, embeddings: patient(embeddings) }),
    search: createSearch({ ...deps, embeddings, rerank: rerankBy && createRerank(createServedModel(rerankBy, deps)) }),
    rewrite: rewriteBy && createRewrite(createServedModel(rewriteBy, deps)),
    embeds: (workspaceId) =>
      embeddings.modelFor(workspaceId).then((model) => model !== null && model.name !== OWN_MODEL, isOnlyAway),
  };
}

/** A virtual key that has expired, for one, may be good again when the files are taken in. */
function isOnlyAway(error: unknown): true {
  if (error instanceof GatewayError && error.status < 500) return true;
  throw error;
}
