import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { priceFile } from '../core/price-file.ts';
import { builtInPrices } from '../core/prices.ts';
import { findProvider } from './registry.ts';

const file = priceFile().parse(JSON.parse(readFileSync(join(import.meta.dir, '../core/price-list.json'), 'utf8')));
const counted = Object.values(file.prices).reduce((sum, models) => sum + Object.keys(models).length, 0);

test('the built-in list has the models of every large provider, each provider with a source and a day', () => {
  expect(counted).toBeGreaterThan(1_500);
  for (const provider of Object.keys(file.prices)) {
    expect([provider, findProvider(provider) !== undefined]).toEqual([provider, true]);
    expect([provider, file.sources?.[provider]?.page]).toEqual([provider, expect.stringMatching(/^https:\/\//)]);
    expect(file.sources?.[provider]?.as_of).toMatch(/^2026-\d\d-\d\d$/);
  }
});

test('no price is beyond reason: a cached token is not dearer than a plain one, nor a tier cheaper', () => {
  for (const [provider, models] of Object.entries(file.prices))
    for (const [model, price] of Object.entries(models)) {
      const { input = 0, output = 0, cached = 0, above = [], batch } = price;
      const name = `${provider} ${model}`;
      expect([name, input <= 1_000 && output <= 2_000]).toEqual([name, true]);
      expect([name, cached <= input]).toEqual([name, true]);
      for (const tier of above) expect([name, tier.input >= input]).toEqual([name, true]);
      if (batch) expect([name, batch.input <= input * 1.01 && batch.output <= output * 1.01]).toEqual([name, true]);
    }
});

test('a model is either priced or known to have no price', () => {
  for (const [provider, models] of Object.entries(file.unpriced ?? {}))
    for (const model of Object.keys(models)) expect(file.prices[provider]?.[model]).toBeUndefined();
});

/** Model names in the types of SDKs: `'gpt-5'` in a union. */
function namesIn(path: string, type: string): string[] {
  const source = readFileSync(join(import.meta.dir, '../../node_modules', path), 'utf8');
  const [, union = ''] = new RegExp(`type ${type} =([^;]+);`).exec(source) ?? [];
  const names = [...union.matchAll(/'([^']+)'/g)].map(([, name]) => name!);
  expect([type, names.length > 0]).toEqual([type, true]);
  return names;
}

const isKnown = (provider: string, model: string): boolean =>
  builtInPrices.priceOf(provider, model) !== null || file.unpriced?.[provider]?.[model.toLowerCase()] !== undefined;

test("every model that the makers' own SDKs name has a price, or a reason why it has none", () => {
  const openai = [
    ...namesIn('openai/resources/shared.d.ts', 'ChatModel'),
    ...namesIn('openai/resources/embeddings.d.ts', 'EmbeddingModel'),
    ...namesIn('openai/resources/images.d.ts', 'ImageModel'),
    ...namesIn('openai/resources/audio/audio.d.ts', 'AudioModel'),
    ...namesIn('openai/resources/audio/speech.d.ts', 'SpeechModel'),
  ];
  const anthropic = namesIn('@anthropic-ai/sdk/resources/messages/messages.d.ts', 'Model');
  expect(openai.filter((model) => !isKnown('openai', model))).toEqual([]);
  expect(anthropic.filter((model) => !isKnown('anthropic', model))).toEqual([]);
});
