import type { TestGateway } from './gateway.ts';

/** One for each format that the simulated provider speaks. */
export const PROVIDERS = ['openai', 'anthropic', 'google'] as const;
export type ProviderKeys = Readonly<Record<(typeof PROVIDERS)[number], string>>;

/** For each of them a virtual key, and an API key that uses it by default: its secret. */
export async function givenProviders({ given, provider }: TestGateway): Promise<ProviderKeys> {
  const keys: Record<string, string> = {};
  for (const name of PROVIDERS) {
    const custom_host = name === 'google' ? `${provider.origin}/v1beta` : provider.url;
    await given.virtualKey({ slug: name, provider: name, key: 'simulated', custom_host });
    keys[name] = (await given.apiKey({ defaults: { virtual_key: name } })).key;
  }
  return keys as ProviderKeys;
}
