import { fail } from '../../core/errors.ts';
import { MCP_TOOLS, type McpTools } from '../../core/principal.ts';
import { headerOf } from '../../http/headers.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Caller } from '../caller/caller.ts';

const HEADER = 'x-gateway-mcp-tools';

/**
 * Whether a client gets all definitions, searches them, or writes programs: as its address says, its header, its key, its
 * workspace.
 */
export function toolsWanted({ headers }: AnonymousCall, { principal }: Caller, byAddress: McpTools | null): McpTools {
  if (byAddress !== null) return byAddress;
  const said = headerOf(headers, HEADER);
  if (said === null) return principal.defaults.mcp_tools ?? 'all';
  return MCP_TOOLS.find((each) => each === said) ?? fail('invalid_request', HEADER, 'give all, search or code');
}
