import type { Limiter } from '../limits/limiter.ts';
import type { McpLimits } from './relay.ts';

const NOTHING = { usage: { inputTokens: 0, outputTokens: 0 }, cost: 0, model: null };

/** A call of a tool is a request like any other; it takes no tokens and no money of the gateway's. */
export const createMcpLimits = ({ limiter }: { limiter: Limiter }): McpLimits => ({
  admit: async ({ principal, server, method, tool }) => {
    if (!principal) return { headers: {}, ended: () => {} };
    const limits = principal.limits.filter(({ counts }) => counts === 'requests');
    const admission = await limiter.reserve(limits, {
      who: principal,
      virtualKey: server,
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
