import type { Limit } from '../../core/limits.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Policies } from '../../limits/policies/policies.ts';
import { folded } from '../message/names.ts';
import type { LimitedMcpCall, McpLimits } from '../relay/limits-port.ts';

const TOOL_CALL = 'tools/call';
const NOTHING = { usage: { inputTokens: 0, outputTokens: 0 }, cost: 0, model: null };

export interface McpLimitsDeps {
  readonly limiter: Limiter;
  readonly policies: Pick<Policies, 'matching' | 'counts'>;
}

/** A call is a request like any other; it takes no tokens and no money of the gateway's. */
export const createMcpLimits = ({ limiter, policies }: McpLimitsDeps): McpLimits => ({
  counts: async ({ principal, server }) =>
    server.policy.limits.length > 0 || principal.limits.some(isOfRequests) || policies.counts(principal, 'mcp_tools'),
  admit: async (call) => {
    const { principal, server, method, tool } = call;
    const limits = [...limitsOf(call), ...(method === TOOL_CALL ? await policies.matching(factsOf(call)) : [])];
    const admission = await limiter.reserve(limits, {
      who: principal,
      virtualKey: server.slug,
      provider: 'mcp',
      model: tool ?? method,
      estimate: () => ({ inputTokens: 0, outputTokens: 0, cost: 0 }),
    });
    return {
      headers: admission.headers,
      ended: ({ isSent }) => {
        if (isSent) admission.sent();
        admission.settle(NOTHING);
      },
    };
  },
});

/** Those of the key and its workspace, and those of the server and the tool. */
const limitsOf = ({ principal, server, tool }: LimitedMcpCall): readonly Limit[] => [
  ...principal.limits.filter(isOfRequests),
  ...server.policy.limits.filter((each) => each.tool === null || isSameTool(each.tool, tool)).map(({ limit }) => limit),
];

const isOfRequests = ({ counts }: Limit): boolean => counts === 'requests';

/** A server that reads names carelessly must not give a caller a second count. */
const isSameTool = (limited: string, called: string | null): boolean =>
  called !== null && (limited === called || folded(limited) === folded(called));

const factsOf = ({ principal, server, tool, metadata }: LimitedMcpCall) => ({
  target: 'mcp_tools' as const,
  organisationId: principal.organisationId,
  workspaceId: principal.workspaceId,
  apiKeyId: principal.keyId,
  virtualKey: null,
  provider: null,
  model: null,
  metadata,
  config: null,
  endpointType: null,
  mcpServer: server.slug,
  mcpTool: tool,
});
