import * as z from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import type { WorkspaceId } from '../../../core/ids.ts';
import type { Principal } from '../../../core/principal.ts';
import { schemaOf } from '../../../core/schema.ts';
import type { Proven } from '../../../guardrails/proof.ts';
import type { CallModel } from '../../../relay/internal.ts';
import { OWN_MODEL, type OwnModel } from './own/own-model.ts';
import { MOST_DIMENSIONS, normalised } from './quantised.ts';

/** By what vectors are made. */
export interface EmbeddingModel {
  readonly name: string;
  /** How many numbers it is asked for; null: as many as it gives by itself. */
  readonly dimensions: number | null;
}

export interface EmbeddingSettings {
  /** The slug of a virtual key; a workspace that has none of that name has no vectors. */
  readonly virtualKey: string;
  readonly model: EmbeddingModel;
}

export interface Embeddings {
  /** What a workspace's new stores are made with; null: nothing. */
  modelFor(workspaceId: WorkspaceId): Promise<EmbeddingModel | null>;
  /** One vector of length one for each text; null for a text that has none. Throws when they cannot be had. */
  embed(request: EmbeddingRequest): Promise<(Float32Array | null)[]>;
}

export interface EmbeddingRequest {
  readonly workspaceId: WorkspaceId;
  readonly model: EmbeddingModel;
  readonly texts: readonly string[];
  /** Whether a client waits for it; chunks that are taken in have time. */
  readonly isWaitedFor?: boolean;
  /** What the caller has proven to guardrails. */
  readonly proven?: Proven;
  readonly signal: AbortSignal;
}

export interface EmbeddingsDeps {
  readonly settings: EmbeddingSettings | null;
  /** Makes the vectors of stores where no virtual key is named for it. Null: it is not installed. */
  readonly own: OwnModel | null;
  readonly callModel: CallModel;
  /** The workspace as a caller: its limits hold, and it pays. */
  readonly workspaceAsCaller: (workspaceId: WorkspaceId) => Promise<Principal>;
  /** Throws `unknown_virtual_key` when the workspace has none of that name. */
  readonly resolveKey: (who: Principal, slug: string) => Promise<unknown>;
}

/** The model has not made vectors; says why, as far as a client may know. */
export class EmbeddingsFailed extends Error {
  override readonly name = 'EmbeddingsFailed';
  readonly status: number;

  constructor(status: number, why: string) {
    super(`The embedding model did not answer as it should: ${why}`);
    this.status = status;
  }
}

const answerSchema = () =>
  z.object({
    data: z.array(
      z.object({ index: z.number().int().optional(), embedding: z.array(z.number()).min(1).max(MOST_DIMENSIONS) }),
    ),
  });

const ROUTE = '/v1/vector_stores';

/** Vectors from a model, called as clients call models: limits, retries and the log apply. */
export function createEmbeddings(deps: EmbeddingsDeps): Embeddings {
  const { settings, own, callModel, workspaceAsCaller, resolveKey } = deps;
  return {
    async modelFor(workspaceId) {
      if (!settings) return own && { name: OWN_MODEL, dimensions: null };
      const who = await workspaceAsCaller(workspaceId);
      try {
        await resolveKey(who, settings.virtualKey);
        return settings.model;
      } catch (error) {
        if (error instanceof GatewayError && error.code === 'unknown_virtual_key') return null;
        throw error;
      }
    },

    async embed(request) {
      const { workspaceId, model, texts, proven, signal } = request;
      if (model.name === OWN_MODEL) return embeddedHere(own, request);
      if (!settings) throw new EmbeddingsFailed(503, 'no virtual key is configured for it');
      const said = texts.map((text, index) => ({ text, index })).filter(({ text }) => text.trim() !== '');
      const vectors = new Array<Float32Array | null>(texts.length).fill(null);
      if (said.length === 0) return vectors;
      const response = await callModel({
        who: await workspaceAsCaller(workspaceId),
        path: '/embeddings',
        body: JSON.stringify({
          model: model.name,
          input: said.map(({ text }) => text),
          encoding_format: 'float',
          ...(model.dimensions !== null && { dimensions: model.dimensions }),
        }),
        headers: { 'x-gateway-virtual-key': settings.virtualKey },
        proven,
        signal,
        route: ROUTE,
      });
      for (const [index, vector] of (await vectorsIn(response, said.length)).entries())
        vectors[said[index]!.index] = vector;
      return vectors;
    },
  };
}

/** In a thread of the gateway: no provider sees the texts, and no limit counts them. */
async function embeddedHere(own: OwnModel | null, { texts, isWaitedFor = false, signal }: EmbeddingRequest) {
  if (!own) throw new EmbeddingsFailed(503, 'it is not installed beside the gateway any more');
  try {
    return await own.embed(texts, { isWaitedFor, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new EmbeddingsFailed(503, (error as Error).message);
  }
}

const WAITS_MS = [1_000, 2_000, 4_000, 8_000, 16_000];
const isPassing = ({ status }: EmbeddingsFailed): boolean => status === 408 || status === 429 || status >= 500;

/** The same, but a provider that is busy for a moment is asked again: for work that has time and has paid already. */
export const patient = (embeddings: Embeddings, waits: readonly number[] = WAITS_MS): Embeddings => ({
  ...embeddings,
  embed: async (request) => {
    for (const waitMs of waits) {
      try {
        return await embeddings.embed(request);
      } catch (error) {
        if (!(error instanceof EmbeddingsFailed) || !isPassing(error)) throw error;
        await Bun.sleep(waitMs);
        request.signal.throwIfAborted();
      }
    }
    return embeddings.embed(request);
  },
});

async function vectorsIn(response: Response, expected: number): Promise<(Float32Array | null)[]> {
  const text = await response.text();
  if (!response.ok) throw new EmbeddingsFailed(response.status, messageIn(text) ?? `status ${response.status}`);
  const { data: answer } = schemaOf(answerSchema).safeParse(parsed(text));
  const found = answer?.data.map((each, place) => ({ place: each.index ?? place, embedding: each.embedding })) ?? [];
  const inOrder = found.sort((one, other) => one.place - other.place);
  if (inOrder.length !== expected || inOrder.some(({ place }, index) => place !== index))
    throw new EmbeddingsFailed(502, `it gave ${found.length} vectors for ${expected} texts`);
  if (new Set(inOrder.map(({ embedding }) => embedding.length)).size > 1)
    throw new EmbeddingsFailed(502, 'its vectors have different lengths');
  return inOrder.map(({ embedding }) => normalised(embedding));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const errorSchema = () => z.object({ error: z.object({ message: z.string().min(1) }) });
const LONGEST_MESSAGE = 500;

const messageIn = (text: string): string | undefined =>
  schemaOf(errorSchema).safeParse(parsed(text)).data?.error.message.slice(0, LONGEST_MESSAGE);
