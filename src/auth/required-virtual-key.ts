import { fail } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import type { StoredCredential, VirtualKeys } from './virtual-keys.ts';

/** The virtual key of a call that must have one: the one it names, or the default of its key. */
export async function requiredVirtualKey(
  call: { readonly headers: SentHeaders; readonly principal: Principal },
  virtualKeys: Pick<VirtualKeys, 'resolve'>,
): Promise<StoredCredential> {
  const slug = headerOf(call.headers, 'x-gateway-virtual-key') ?? call.principal.defaults.virtual_key;
  return virtualKeys.resolve(call.principal, slug || fail('missing_virtual_key'));
}
