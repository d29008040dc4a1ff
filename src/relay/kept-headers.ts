import { fail } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import { isInline } from '../http/forbidden-headers.ts';
import { flagOf, headerOf, type SentHeaders } from '../http/headers.ts';
import type { Configs } from '../routing/configs.ts';
import { readTimeout } from './ask.ts';
import { readMetadata } from './receive.ts';

const FLAGS = [
  'x-gateway-debug',
  'x-gateway-cache-force-refresh',
  'x-gateway-strict-open-ai-compliance',
  'x-gateway-drop-params',
];

/**
 * Headers of model calls that are made later than the request that asks for them, by a run or a batch. What such a call
 * would refuse is refused at once, because later no client is there to be told. Nothing secret is kept: a config is
 * named.
 */
export async function keptHeaders(
  { headers, principal }: { readonly headers: SentHeaders; readonly principal: Principal },
  names: readonly string[],
  configs: Pick<Configs, 'resolve'>,
): Promise<Record<string, string>> {
  readMetadata(headers, undefined);
  readTimeout(headers);
  for (const flag of FLAGS) flagOf(headers, flag);
  const config = headerOf(headers, 'x-gateway-config');
  if (config !== null && isInline(config))
    fail('invalid_header', 'x-gateway-config', 'what outlives its request takes the slug of a saved config');
  if (config !== null) await configs.resolve(principal, config);
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = headerOf(headers, name);
    if (value !== null) kept[name] = value;
  }
  return kept;
}
