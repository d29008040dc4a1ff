import type { JsonObject, TokenUsage } from '../ir.ts';
import { countIn, objectIn, present, restOf } from '../json.ts';
import type { Losses } from '../losses.ts';
import type { Usage } from './wire.ts';

const COUNTED = new Set([
  'input_tokens',
  'input_tokens_details',
  'output_tokens',
  'output_tokens_details',
  'total_tokens',
]);

/** This dialect always names the shares, so 0 may mean that the provider did not count. */
const shareIn = (value: unknown): number | undefined => countIn(value) || undefined;

/** Here `input_tokens` counts what was read from the cache too. */
export function decodeUsage(usage: JsonObject): TokenUsage {
  const input = objectIn(usage.input_tokens_details);
  const output = objectIn(usage.output_tokens_details);
  const inputTokens = countIn(usage.input_tokens);
  const outputTokens = countIn(usage.output_tokens);
  const total = countIn(usage.total_tokens);
  const rest = restOf(usage, COUNTED);
  return present<TokenUsage>({
    inputTokens,
    outputTokens,
    totalTokens: total === (inputTokens ?? 0) + (outputTokens ?? 0) ? undefined : total,
    cachedInputTokens: shareIn(input.cached_tokens),
    cacheWriteTokens: shareIn(input.cache_write_tokens),
    reasoningTokens: shareIn(output.reasoning_tokens),
    ext: rest && { responses: rest },
  });
}

export const encodeUsage = (usage: TokenUsage): Usage => {
  const { inputTokens = 0, outputTokens = 0 } = usage;
  return {
    ...usage.ext?.responses,
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens ?? 0,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.totalTokens ?? inputTokens + outputTokens,
  };
};

const UNCOUNTED = ['cacheWrite5mTokens', 'cacheWrite1hTokens', 'audioInputTokens', 'audioOutputTokens'] as const;

export function noteUsage(usage: TokenUsage, losses: Losses) {
  losses.ext(usage, 'usage');
  for (const name of UNCOUNTED)
    if (usage[name] !== undefined) losses.member({}, 'usage', name, 'responses does not count this');
  for (const name of ['cachedInputTokens', 'cacheWriteTokens', 'reasoningTokens'] as const)
    if (usage[name] === 0) losses.member({}, 'usage', name, '0 looks like a number that was not counted');
}
