import type { StoredCredential } from '../../auth/virtual-keys.ts';
import { fail } from '../../core/errors.ts';
import type { NewBatch } from '../batch.ts';
import { anthropic } from './anthropic.ts';
import type { NativeApi } from './api.ts';
import { mistral } from './mistral.ts';
import { azureOpenai, groq, openai } from './openai.ts';

/** Batch APIs by the names of their providers. */
const APIS: ReadonlyMap<string, NativeApi> = new Map([
  ['openai', openai],
  ['azure-openai', azureOpenai],
  ['anthropic', anthropic],
  ['mistral-ai', mistral],
  ['groq', groq],
]);

export const nativeProviders: readonly string[] = [...APIS.keys()];
export const nativeApi = (provider: string): NativeApi | null => APIS.get(provider) ?? null;

/**
 * Who carries a batch out. `auto`: the provider, when it has a batch API for this, the virtual key leads to the provider
 * itself, and there is a day's time; else the gateway.
 */
export function modeOf(
  { endpoint, completion_window: window }: Pick<NewBatch, 'endpoint' | 'completion_window'>,
  { provider, customHost, configurations }: Pick<StoredCredential, 'provider' | 'customHost' | 'configurations'>,
): 'managed' | 'native' {
  const wish = configurations.batches ?? 'auto';
  if (wish === 'managed' || window !== '24h') return 'managed';
  if (!nativeApi(provider)?.endpoints.includes(endpoint))
    return wish === 'native' ? fail('native_batches_unsupported', provider, endpoint, nativeProviders) : 'managed';
  return wish === 'native' || customHost === null ? 'native' : 'managed';
}
