import type { JsonObject, TokenUsage } from '../ir.ts';
import { countIn, objectIn, present, restOf } from '../json.ts';
import type { Losses } from '../losses.ts';
import type { Usage } from './wire.ts';

const COUNTED = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_tokens_details',
  'completion_tokens_details',
]);

/** Here `prompt_tokens` counts what was read from the cache too. */
export function decodeUsage(usage: JsonObject): TokenUsage {
  const prompt = objectIn(usage.prompt_tokens_details);
  const completion = objectIn(usage.completion_tokens_details);
  const inputTokens = countIn(usage.prompt_tokens);
  const outputTokens = countIn(usage.completion_tokens);
  const total = countIn(usage.total_tokens);
  const rest = restOf(usage, COUNTED);
  return present<TokenUsage>({
    inputTokens,
    outputTokens,
    totalTokens: total === (inputTokens ?? 0) + (outputTokens ?? 0) ? undefined : total,
    // DeepSeek has a name of its own for it.
    cachedInputTokens: countIn(prompt.cached_tokens) ?? countIn(usage.prompt_cache_hit_tokens),
    cacheWriteTokens: countIn(prompt.cache_write_tokens),
    audioInputTokens: countIn(prompt.audio_tokens),
    reasoningTokens: countIn(completion.reasoning_tokens),
    audioOutputTokens: countIn(completion.audio_tokens),
    ext: rest && { 'openai-chat': rest },
  });
}

export function encodeUsage(usage: TokenUsage, losses?: Losses): Usage {
  const { inputTokens = 0, outputTokens = 0 } = usage;
  for (const name of ['cacheWrite5mTokens', 'cacheWrite1hTokens'] as const)
    if (usage[name] !== undefined) losses?.member({}, 'usage', name, 'chat counts all writes together');
  return present<Usage>({
    ...usage.ext?.['openai-chat'],
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: usage.totalTokens ?? inputTokens + outputTokens,
    prompt_tokens_details: some({
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      audio_tokens: usage.audioInputTokens,
    }),
    completion_tokens_details: some({
      reasoning_tokens: usage.reasoningTokens,
      audio_tokens: usage.audioOutputTokens,
    }),
  });
}

function some<Value extends object>(value: Value): Value | undefined {
  const counted = present(value);
  return Object.keys(counted).length > 0 ? counted : undefined;
}
