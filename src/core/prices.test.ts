import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { priceFile, priceMembers } from './price-file.ts';
import { builtInPrices, priceListOf, pricesOf } from './prices.ts';

const { costOf, priceOf } = builtInPrices;

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };
/** So few that no model takes them for a long prompt. */
const few = { inputTokens: 10_000, outputTokens: 10_000 };

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
  ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 19.8],
  ['bedrock', 'global.anthropic.claude-sonnet-4-5-20250929-v1:0', 18],
  ['google', 'models/gemini-2.5-flash', 2.8],
  ['google', 'gemini-2.5-flash-preview-05-20', 2.8],
  ['google', 'gemini-2.0-flash-001', 0.5],
  ['mistral-ai', 'mistral-large-latest', 2],
  ['groq', 'openai/gpt-oss-120b', 0.75],
] as const) {
  test(`${provider} ${model} costs ${dollars} dollars for a million tokens each way`, () => {
    expect(costOf(provider, model, few)).toBeCloseTo(dollars / 100, 9);
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

test('a fine-tuned model has the price of such models, and a region that of its model', () => {
  const prices = pricesOf({
    built_in: false,
    prices: {
      openai: { 'ft:gpt-4o-2024-08-06': { input: 3.75, output: 15 }, 'gpt-4o': { input: 1, output: 1 } },
      bedrock: {
        'amazon.nova-lite-v1:0': { input: 1, output: 1 },
        'eu.amazon.nova-lite-v1:0': { input: 2, output: 2 },
      },
    },
  });
  expect(prices.costOf('openai', 'ft:gpt-4o-2024-08-06:acme::Ab12', million)).toBe(18.75);
  expect(prices.costOf('openai', 'ft:gpt-9:acme::Ab12', million)).toBeNull();
  expect(prices.costOf('bedrock', 'us.amazon.nova-lite-v1:0', million)).toBe(2);
  expect(prices.costOf('bedrock', 'eu.amazon.nova-lite-v1:0', million)).toBe(4);
});

test('files lie over each other, and one that does without the rest ends the row', () => {
  const at = (input: number) => ({ openai: { own: { input, output: 0 } } });
  const both = pricesOf({ prices: at(1) }, { prices: { ...at(2), other: { m: { input: 4, output: 0 } } } });
  expect(both.costOf('openai', 'own', million)).toBe(1);
  expect(both.costOf('other', 'm', million)).toBe(4);
  expect(both.costOf('openai', 'gpt-4o', million)).toBe(12.5);
  expect(pricesOf({ prices: at(1) }, { built_in: false, prices: {} }).costOf('openai', 'gpt-4o', million)).toBeNull();
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

test('a price list is of the form that operators write', () => {
  const file = priceFile().parse(JSON.parse(readFileSync(join(import.meta.dir, 'price-list.json'), 'utf8')));
  expect(Object.keys(file.prices)).toContain('openai');
});

test("an operator's list stands over the built-in one, model by model", () => {
  const prices = pricesOf({
    prices: { openai: { 'gpt-4o': { input: 1, output: 1 } }, mine: { M: { input: 0, output: 0 } } },
  });
  expect(prices.costOf('openai', 'gpt-4o-2024-08-06', million)).toBe(2);
  expect(prices.costOf('azure-openai', 'gpt-4o', million)).toBe(2);
  expect(prices.costOf('openai', 'gpt-4o-mini', million)).toBeCloseTo(0.75, 9);
  expect(prices.costOf('mine', 'm', million)).toBe(0);
  expect(prices.costOf('mine', 'n', million)).toBeNull();
});

test("a reseller's own price stands over the maker's", () => {
  const prices = pricesOf({ prices: { 'azure-openai': { 'gpt-4o': { input: 9, output: 9 } } } });
  expect(prices.costOf('azure-openai', 'gpt-4o', million)).toBe(18);
  expect(prices.costOf('openai', 'gpt-4o', million)).toBe(12.5);
});

test('an operator can do without the built-in list', () => {
  const prices = pricesOf({ built_in: false, prices: { openai: { own: { input: 1, output: 2 } } } });
  expect(prices.costOf('openai', 'own', million)).toBe(3);
  expect(prices.costOf('openai', 'gpt-4o', million)).toBeNull();
});

test("a virtual key's prices stand over every list, and what they leave out is looked up", () => {
  const own = priceListOf({
    'GPT-4o': { input: 0, output: 0 },
    local: { input: 1, output: 2, cached: 0.5, cache_write: 4 },
  });
  expect(costOf('openai', 'gpt-4o', million, own)).toBe(0);
  expect(costOf('openai', 'gpt-4o-2024-08-06', million, own)).toBe(0);
  expect(costOf('nobody', 'local', { ...million, cachedInputTokens: 1e6 }, own)).toBe(2.5);
  expect(costOf('nobody', 'local', { ...million, cacheWriteTokens: 1e6 }, own)).toBe(6);
  expect(costOf('openai', 'gpt-4o-mini', million, own)).toBeCloseTo(0.75, 9);
  expect(costOf('openai', 'unheard-of', million, own)).toBeNull();
});

for (const [name, entry] of [
  ['negative', { input: -1, output: 1 }],
  ['text', { input: '1', output: 1 }],
  ['infinite', { input: Number.POSITIVE_INFINITY, output: 1 }],
  ['missing', { input: 1 }],
  ['misspelt', { input: 1, output: 1, cachde: 1 }],
  ['no object', 3],
] as const) {
  test(`a price that is ${name} is refused`, () => {
    expect(priceMembers().safeParse({ model: entry }).success).toBe(false);
  });
}
