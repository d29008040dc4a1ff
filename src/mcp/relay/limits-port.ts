import type { Principal } from '../../core/principal.ts';
import type { SentHeaders } from '../../http/headers.ts';
import type { McpServer } from '../server/server.ts';

/** One call as limits see it. */
export interface LimitedMcpCall {
  readonly principal: Principal;
  readonly server: McpServer;
  readonly method: string | null;
  readonly tool: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
}

export interface AdmittedMcpCall {
  /** `x-ratelimit-*`, for the answer. */
  readonly headers: SentHeaders;
  /** Called once, when it is known whether anything was sent to the server. */
  ended(outcome: { readonly isSent: boolean }): void;
}

export interface McpLimits {
  /** Whether messages are counted, so that each has to be read. */
  counts(call: Pick<LimitedMcpCall, 'principal' | 'server'>): Promise<boolean>;
  /** Throws 429 or 412 when the call does not fit. */
  admit(call: LimitedMcpCall): Promise<AdmittedMcpCall>;
}
