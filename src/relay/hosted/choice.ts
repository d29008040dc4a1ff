import { fail } from '../../core/errors.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';

export const HOSTED_TOOLS = 'x-gateway-hosted-tools';

/** Who is to do what both the gateway and a provider can do, where the caller says so. */
export function choiceIn(headers: SentHeaders): 'gateway' | 'provider' | null {
  const choice = headerOf(headers, HOSTED_TOOLS);
  if (choice === null || choice === 'gateway' || choice === 'provider') return choice;
  return fail('invalid_header', HOSTED_TOOLS, 'must be gateway or provider');
}
