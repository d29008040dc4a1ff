import { describe, expect, test } from 'bun:test';
import { FramingError } from '../framing-error.ts';
import {
  anthropicModels,
  bareModels,
  bedrockModels,
  cohereModels,
  geminiModels,
  type ModelListing,
  openaiModels,
  readModel,
  readModels,
  workersModels,
} from './models.ts';

const model = (id: string, owned_by: string, created = 0) => ({ id, object: 'model', created, owned_by });

describe('lists of models', () => {
  const rows: [string, ModelListing, unknown, object, boolean?][] = [
    ['openai', openaiModels, { data: [{ id: 'gpt-5', created: 7, owned_by: 'openai' }] }, model('gpt-5', 'openai', 7)],
    ['together', bareModels, [{ id: 'a/b', created: 7, organization: 'A' }], model('a/b', 'A', 7)],
    [
      'anthropic',
      anthropicModels,
      {
        data: [{ type: 'model', id: 'claude-x', display_name: 'Claude X', created_at: '2025-05-14T00:00:00Z' }],
        has_more: true,
      },
      { ...model('claude-x', 'anthropic', 1_747_180_800), type: 'model', display_name: 'Claude X' },
      true,
    ],
    [
      'gemini',
      geminiModels,
      { models: [{ name: 'models/gemini-x', displayName: 'Gemini X' }], nextPageToken: 'more' },
      { ...model('gemini-x', 'google'), display_name: 'Gemini X' },
      true,
    ],
    ['cohere', cohereModels, { models: [{ name: 'command-x', endpoints: ['chat'] }] }, model('command-x', 'cohere')],
    [
      'bedrock',
      bedrockModels,
      { modelSummaries: [{ modelId: 'amazon.nova-x', modelName: 'Nova X', providerName: 'Amazon' }] },
      model('amazon.nova-x', 'amazon'),
    ],
    [
      'workers',
      workersModels,
      { result: [{ name: '@cf/meta/llama' }], success: true },
      model('@cf/meta/llama', 'cloudflare'),
    ],
  ];
  for (const [name, listing, json, first, more = false] of rows) {
    test(`of ${name} become OpenAI's`, () => {
      const { models, hasMore } = readModels(listing, json);
      expect(models).toHaveLength(1);
      expect(models[0]).toMatchObject(first);
      expect(hasMore).toBe(more);
    });
  }

  test('entries without a name are no models, and an answer without a list is none', () => {
    expect(readModels(openaiModels, { data: [{}, 7, { id: 'x' }] }).models.map(({ id }) => id)).toEqual(['x']);
    for (const json of [undefined, {}, 'x', { data: {} }])
      expect(() => readModels(openaiModels, json)).toThrow(FramingError);
  });
});

test('one model comes from its own address, or out of the list', () => {
  const details = { modelDetails: { modelId: 'amazon.nova-x', providerName: 'Amazon' } };
  expect(readModel(bedrockModels, details, 'amazon.nova-x')).toMatchObject(model('amazon.nova-x', 'amazon'));
  expect(readModel(bareModels, [{ id: 'a' }, { id: 'b' }], 'b')).toMatchObject({ id: 'b' });
  expect(readModel(bareModels, [{ id: 'a' }], 'c')).toBeUndefined();
});
