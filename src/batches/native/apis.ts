import { fail } from '../../core/errors.ts';
import type { StoredCredential } from '../../core/stored-credential.ts';
import type { BatchStorage } from '../../providers/batch-storage.ts';
import type { ProviderOptions } from '../../providers/provider.ts';
import type { NewBatch } from '../batch.ts';
import { anthropic } from './anthropic.ts';
import type { NativeApi, Place } from './api.ts';
import { bedrock } from './bedrock.ts';
import { mistral } from './mistral.ts';
import { azureOpenai, groq, openai } from './openai.ts';
import { vertex } from './vertex.ts';

/** Batch APIs by the names of their providers. */
const APIS: ReadonlyMap<string, NativeApi> = new Map([
  ['openai', openai],
  ['azure-openai', azureOpenai],
  ['anthropic', anthropic],
  ['mistral-ai', mistral],
  ['groq', groq],
  ['vertex-ai', vertex],
  ['bedrock', bedrock],
]);

export const nativeProviders: readonly string[] = [...APIS.keys()];
export const nativeApi = (provider: string): NativeApi | null => APIS.get(provider) ?? null;

type Configured = Pick<StoredCredential, 'provider' | 'customHost' | 'configurations'>;

/** In whose account batches of a virtual key run. What it says was checked when it was saved. */
export const placeOf = ({ configurations }: Pick<Configured, 'configurations'>, options: ProviderOptions): Place => ({
  options,
  storage: (configurations.batch_storage as BatchStorage | undefined) ?? null,
});

/**
 * Who carries a batch out. `auto`: the provider, when it has a batch API for this, the virtual key leads to the provider
 * itself and says all that is needed, and there is a day's time; else the gateway.
 */
export function modeOf(
  { endpoint, completion_window: window }: Pick<NewBatch, 'endpoint' | 'completion_window'>,
  virtualKey: Configured,
): 'managed' | 'native' {
  const { provider, customHost, configurations } = virtualKey;
  const wish = configurations.batches ?? 'auto';
  if (wish === 'managed' || window !== '24h') return 'managed';
  const api = nativeApi(provider);
  if (!api?.endpoints.includes(endpoint))
    return wish === 'native' ? fail('native_batches_unsupported', provider, endpoint, nativeProviders) : 'managed';
  if (wish === 'auto' && (customHost !== null || (needsBucket(api) && configurations.batch_storage === undefined)))
    return 'managed';
  checkPlace(api, virtualKey);
  return 'native';
}

const needsBucket = ({ takes }: NativeApi): boolean => takes === 'gs' || takes === 's3';

function checkPlace(api: NativeApi, virtualKey: Configured) {
  const place = placeOf(virtualKey, virtualKey.configurations);
  api.check?.(place);
  // A stored credential goes to the hosts that are stored with it, and to no other.
  if (needsBucket(api) && virtualKey.customHost !== null && place.storage?.endpoint === undefined)
    fail(
      'invalid_provider_option',
      'configurations.batch_storage.endpoint',
      'a virtual key with a custom_host must also say where its bucket is reached.',
    );
}
