import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { fail } from '../core/errors.ts';
import { headerOf } from '../http/headers.ts';
import type { Call } from '../http/route.ts';

const BETA = 'assistants=v2';

/** The beta header may be absent; another value means that the client speaks another version. */
export function checkBeta({ headers }: Pick<Call, 'headers'>) {
  for (const name of ['vendor-beta', 'openai-beta']) {
    const value = headerOf(headers, name);
    const asked = value?.split(',').find((each) => each.trim().startsWith('assistants='));
    if (value !== null && asked?.trim() !== BETA) fail('invalid_beta', name, value.slice(0, 80));
  }
}

/** The virtual key whose provider answers for a thread: named by the call, or the key's default. */
export async function virtualKeyOf(
  call: Pick<Call, 'headers' | 'principal'>,
  virtualKeys: VirtualKeys,
): Promise<string> {
  const slug = headerOf(call.headers, 'x-gateway-virtual-key') ?? call.principal.defaults.virtual_key;
  if (!slug) return fail('missing_virtual_key');
  return (await virtualKeys.resolve(call.principal, slug)).slug;
}
