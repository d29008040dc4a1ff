import type { Usage } from '../core/usage.ts';
import type { BatchResultRow, BatchRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import type { BatchTable } from './table.ts';

/** Tokens of a batch, in the columns of its row. */
export type BatchTokens = Pick<BatchRow, 'input_tokens' | 'cached_tokens' | 'output_tokens' | 'reasoning_tokens'>;

export const NO_TOKENS: BatchTokens = { input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0 };

/** As clients see them. */
export const shownUsage = (row: BatchTokens) => ({
  input_tokens: row.input_tokens,
  input_tokens_details: { cached_tokens: row.cached_tokens },
  output_tokens: row.output_tokens,
  output_tokens_details: { reasoning_tokens: row.reasoning_tokens },
  total_tokens: row.input_tokens + row.output_tokens,
});

/** A result to be kept, and what the provider counted for it; null: it did not say. */
export interface CountedResult {
  readonly row: BatchResultRow;
  readonly usage: Usage | null;
}

/**
 * Inside a transaction: the results, and in the batch's row what those of them took that were not there before. So a
 * request that was made twice, because a process died, counts once, like its result. Answers which were added.
 */
export async function keepResults(
  db: Db,
  table: BatchTable,
  batchId: string,
  results: readonly CountedResult[],
): Promise<number[]> {
  const added = await table.insertResults(
    db,
    results.map(({ row }) => row),
  );
  const isNew = new Set(added);
  const sum = { ...NO_TOKENS };
  for (const { row, usage } of results) {
    if (!usage || !isNew.has(row.number)) continue;
    sum.input_tokens += usage.inputTokens ?? 0;
    sum.cached_tokens += usage.cachedInputTokens ?? 0;
    sum.output_tokens += usage.outputTokens ?? 0;
    sum.reasoning_tokens += usage.reasoningTokens ?? 0;
  }
  if (sum.input_tokens + sum.output_tokens > 0) await table.addTokens(db, batchId, sum);
  return added;
}

type Members = Readonly<Record<string, unknown>>;
const members = (value: unknown): Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Members) : {};

/** In the words of chat completions and embeddings, or of responses, images and messages. */
export function usageIn(body: unknown): Usage | null {
  const usage = members(members(body).usage);
  const input = number(usage.prompt_tokens) ?? number(usage.input_tokens);
  if (input === undefined) return null;
  const output = number(usage.completion_tokens) ?? number(usage.output_tokens) ?? 0;
  const read = number(usage.cache_read_input_tokens);
  const written = number(usage.cache_creation_input_tokens);
  const details = members(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const reasoning = number(members(usage.completion_tokens_details ?? usage.output_tokens_details).reasoning_tokens);
  // Messages count what came from the cache, or went there, beside the input.
  const inputTokens = input + (read ?? 0) + (written ?? 0);
  return {
    inputTokens,
    outputTokens: output,
    totalTokens: inputTokens + output,
    cachedInputTokens: read ?? number(details.cached_tokens) ?? 0,
    ...(written !== undefined && { cacheWriteTokens: written }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  };
}

/** What is no count says nothing: one below zero would give budgets back, and one beyond all counts spoils the sum. */
const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_TOKENS ? value : undefined;
const MOST_TOKENS = 1e10;
