import { expect, test } from 'bun:test';
import { costOf, priceOf } from './prices.ts';

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

for (const [provider, model, dollars] of [
  ['openai', 'gpt-4o', 12.5],
  ['openai', 'gpt-4o-2024-08-06', 12.5],
  ['openai', 'gpt-4o-mini-2024-07-18', 0.75],
  ['openai', 'gpt-3.5-turbo-0125', 2],
  ['openai', 'GPT-4o', 12.5],
  ['azure-openai', 'gpt-4o', 12.5],
  ['anthropic', 'claude-sonnet-4-20250514', 18],
  ['anthropic', 'claude-sonnet-4-5-20250929', 18],
  ['anthropic', 'claude-3-5-haiku-latest', 4.8],
  ['vertex-ai', 'claude-sonnet-4-5@20250929', 18],
  ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 18],
  ['google', 'models/gemini-2.5-flash', 2.8],
  ['google', 'gemini-2.5-flash-preview-05-20', 2.8],
  ['google', 'gemini-2.0-flash-001', 0.5],
  ['mistral-ai', 'mistral-large-latest', 2],
  ['groq', 'openai/gpt-oss-120b', 0.75],
] as const) {
  test(`${provider} ${model} costs ${dollars} dollars for a million tokens each way`, () => {
    expect(costOf(provider, model, million)).toBeCloseTo(dollars, 9);
  });
}

for (const [provider, model] of [
  ['openai', 'gpt-4o-audio-preview'],
  ['openai', 'gpt-4o-realtime-preview'],
  ['openai', 'gpt-99'],
  ['anthropic', 'claude-opus-4-9'],
  ['openai', 'claude-sonnet-4-5'],
  ['nobody', 'gpt-4o'],
  ['toString', 'constructor'],
] as const) {
  test(`${provider} ${model} has no known price, which is not zero`, () => {
    expect(costOf(provider, model, million)).toBeNull();
  });
}

test('cached input and cache writes have their own price', () => {
  const usage = { inputTokens: 1_000_000, cachedInputTokens: 400_000, cacheWriteTokens: 100_000, outputTokens: 0 };
  expect(costOf('anthropic', 'claude-sonnet-4-5', usage)).toBeCloseTo(0.5 * 3 + 0.4 * 0.3 + 0.1 * 3.75, 9);
  expect(costOf('openai', 'gpt-4o', { inputTokens: 1_000_000, cachedInputTokens: 1_000_000 })).toBeCloseTo(1.25, 9);
});

test('unknown usage has no cost', () => {
  expect(costOf('openai', 'gpt-4o', null)).toBeNull();
  expect(costOf('openai', 'gpt-4o', {})).toBeNull();
  expect(costOf(null, 'gpt-4o', million)).toBeNull();
});

test('names that clients invent do not fill the memory of answers', () => {
  for (let index = 0; index < 5_000; index++) expect(priceOf('openai', `model-${index}`)).toBeNull();
  expect(priceOf('openai', 'gpt-4o')).not.toBeNull();
});
