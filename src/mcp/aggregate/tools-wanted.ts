import { fail } from '../../core/errors.ts';
import { headerOf } from '../../http/headers.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Caller } from '../caller/caller.ts';

const HEADER = 'x-gateway-mcp-tools';

/** Whether a client gets all definitions or searches them: as its address says, its header, its key, its workspace. */
export function isSearchWanted({ headers }: AnonymousCall, { principal }: Caller, byAddress: boolean | null): boolean {
  if (byAddress !== null) return byAddress;
  const said = headerOf(headers, HEADER);
  if (said === null) return principal.defaults.mcp_tools === 'search';
  if (said !== 'search' && said !== 'all') fail('invalid_request', HEADER, 'give search or all');
  return said === 'search';
}
