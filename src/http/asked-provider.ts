import { fail } from '../core/errors.ts';
import { headerOf, type SentHeaders } from './headers.ts';

/** How the provider of a call is chosen: a stored credential, or the caller's own. */
export type Selection =
  | { readonly by: 'virtual-key'; readonly slug: string }
  | { readonly by: 'provider'; readonly name: string; readonly customHost: string | null };

const MAX_HOST_LENGTH = 2_048;

/** Whom the headers, or the slug in front of a model's name, choose; a request that contradicts itself is refused. */
export function askedProvider(headers: SentHeaders, modelSlug: string | null = null): Selection | null {
  const provider = headerOf(headers, 'x-gateway-provider');
  const customHost = headerOf(headers, 'x-gateway-custom-host');
  const stored = slugOfProvider(provider);
  const named = headerOf(headers, 'x-gateway-virtual-key');
  const slug = modelSlug ?? named ?? stored;
  if (slug !== null) {
    // A stored credential goes only to the host stored with it.
    const isAnother = stored === null || (named !== null && named !== stored);
    if (provider !== null && isAnother) fail('conflicting_provider', 'x-gateway-provider');
    if (customHost !== null) fail('conflicting_provider', 'x-gateway-custom-host');
    return { by: 'virtual-key', slug };
  }
  if (customHost !== null && customHost.length > MAX_HOST_LENGTH) {
    fail('invalid_header', 'x-gateway-custom-host', `is longer than ${MAX_HOST_LENGTH} characters`);
  }
  if (provider !== null) return { by: 'provider', name: provider, customHost };
  if (customHost !== null) {
    fail(
      'invalid_header',
      'x-gateway-custom-host',
      'also send x-gateway-provider, which says how that host is spoken to',
    );
  }
  return null;
}

/** `x-gateway-provider: @slug` names a stored credential. */
const slugOfProvider = (provider: string | null) => (provider?.startsWith('@') ? provider.slice(1) : null);
