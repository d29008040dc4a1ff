import { expect, test } from 'bun:test';
import { type KnownKey, keyIndexOf } from '../auth/virtual-key-index.ts';
import { builtInPrices } from '../core/prices.ts';
import type { Principal } from '../core/principal.ts';
import { createModelNames } from './model-names.ts';

/** Who is known to have a model without being asked. Here nobody may be. */
const namesOf = (...keys: Partial<KnownKey>[]) => {
  const index = keyIndexOf(
    keys.map((key) => ({
      slug: `${key.provider}-key`,
      provider: '',
      hasOwnHost: false,
      expiresAt: null,
      prices: null,
      ...key,
    })),
  );
  return createModelNames({
    virtualKeys: { index: () => index },
    listOf: () => Promise.reject(new Error('asked for its list')),
    prices: builtInPrices,
    plainModels: 'first',
    now: () => 1_000,
  });
};
const who = {} as Principal;
const ALL = ['openai', 'anthropic', 'google', 'groq', 'azure-openai', 'bedrock', 'vertex-ai', 'openrouter'];
const all = namesOf(...ALL.map((provider) => ({ provider })));

test.each([
  ['gpt-4o', 'openai-key', 'gpt-4o', ['azure-openai-key']],
  ['gpt-4o-2024-08-06', 'openai-key', 'gpt-4o-2024-08-06', ['azure-openai-key']],
  ['claude-sonnet-5', 'anthropic-key', 'claude-sonnet-5', ['bedrock-key', 'vertex-ai-key']],
  ['gemini-2.5-pro', 'google-key', 'gemini-2.5-pro', ['vertex-ai-key']],
  ['openai/gpt-4o', 'openai-key', 'gpt-4o', []],
  ['anthropic/claude-sonnet-5', 'anthropic-key', 'claude-sonnet-5', []],
  ['groq/llama-3.3-70b-versatile', 'groq-key', 'llama-3.3-70b-versatile', []],
  ['groq/compound-mini', 'groq-key', 'groq/compound-mini', []],
  ['openai/gpt-oss-120b', 'groq-key', 'openai/gpt-oss-120b', []],
  ['openrouter/auto', 'openrouter-key', 'openrouter/auto', []],
])('%s is asked of %s without asking for a list', async (model, slug, name, others) => {
  expect(await all.find(who, model, true)).toEqual({ slug, name, others });
});

test('a prefix is no prefix where the name must stay as it is', async () => {
  const names = namesOf({ provider: 'openai' }, { provider: 'groq' });
  expect(await names.find(who, 'openai/gpt-oss-20b', false)).toMatchObject({
    slug: 'groq-key',
    name: 'openai/gpt-oss-20b',
  });
});

test('an expired virtual key is meant only by its slug', async () => {
  const names = namesOf({ provider: 'openai', slug: 'old', expiresAt: 999 }, { provider: 'azure-openai', slug: 'new' });
  expect(await names.find(who, 'gpt-4o', true)).toMatchObject({ slug: 'new', others: [] });
  expect(await names.find(who, 'old/gpt-4o', true)).toMatchObject({ slug: 'old' });
});

test('lists are asked for where a host may have anything, and where the model is known to be of another provider', async () => {
  for (const names of [
    namesOf({ provider: 'openai', hasOwnHost: true }, { provider: 'google' }),
    namesOf({ provider: 'anthropic' }),
  ])
    await expect(names.find(who, 'gpt-4o', true)).rejects.toThrow('asked for its list');
});
