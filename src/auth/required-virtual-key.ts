import { fail } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import type { StoredCredential } from '../core/stored-credential.ts';
import { askedProvider } from '../http/asked-provider.ts';
import type { SentHeaders } from '../http/headers.ts';
import type { VirtualKeys } from './virtual-keys.ts';

/**
 * The virtual key of a call that must have one: the one it names, or the default of its key. A provider's name is not a
 * virtual key, and the default does not replace it: the caller asked for that provider.
 */
export async function requiredVirtualKey(
  call: { readonly headers: SentHeaders; readonly principal: Principal },
  virtualKeys: Pick<VirtualKeys, 'resolve'>,
): Promise<StoredCredential> {
  const asked = askedProvider(call.headers);
  if (asked?.by === 'provider') fail('missing_virtual_key');
  const slug = asked?.slug ?? call.principal.defaults.virtual_key;
  return virtualKeys.resolve(call.principal, slug || fail('missing_virtual_key'));
}
