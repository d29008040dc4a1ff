import * as z from 'zod';
import type { Checked } from '../../core/schema.ts';
import type { VectorStoreFileRow } from '../../storage/schema.ts';
import type { Chunking } from '../documents/chunks.ts';

const LEAST_TOKENS = 100;
const MOST_TOKENS = 4_096;
export const USUAL_CHUNKING: Chunking = { chunkTokens: 800, overlapTokens: 400 };

const staticTokens = () =>
  z
    .strictObject({
      max_chunk_size_tokens: z.int().min(LEAST_TOKENS).max(MOST_TOKENS),
      chunk_overlap_tokens: z.int().min(0),
    })
    .superRefine(({ max_chunk_size_tokens: most, chunk_overlap_tokens: overlap }, context) => {
      if (overlap <= most / 2) return;
      const message = `chunks of ${most} tokens overlap by at most half of that, ${Math.floor(most / 2)}`;
      context.addIssue({ code: 'custom', path: ['chunk_overlap_tokens'], message });
    });

/** How a file is cut, as clients ask for it. */
export const chunkingStrategy = () =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('auto') }),
    z.strictObject({ type: z.literal('static'), static: staticTokens() }),
  ]);
export type ChunkingStrategy = Checked<typeof chunkingStrategy>;

export const shownChunking = () =>
  z.object({
    type: z.literal('static'),
    static: z.object({ max_chunk_size_tokens: z.int(), chunk_overlap_tokens: z.int() }),
  });

/** A client that leaves it to us gets 800 and 400, and is shown that. */
export const chunkingOf = (asked: ChunkingStrategy | null | undefined): Chunking =>
  asked?.type === 'static'
    ? { chunkTokens: asked.static.max_chunk_size_tokens, overlapTokens: asked.static.chunk_overlap_tokens }
    : USUAL_CHUNKING;

export const strategyOf = (row: VectorStoreFileRow): Checked<typeof shownChunking> => ({
  type: 'static',
  static: { max_chunk_size_tokens: row.chunk_tokens, chunk_overlap_tokens: row.overlap_tokens },
});
