import type { Caller } from '../caller/caller.ts';
import type { MessageLook } from '../message/look.ts';
import type { McpServer } from '../server/server.ts';

/** Who calls which server, once it is known that they may. */
export interface AdmittedCaller {
  readonly server: McpServer;
  readonly caller: Caller;
  /** Throws when they may no longer. */
  readonly again: () => Promise<void>;
}

/** What is known of a call before it goes to the server. */
export interface McpCall {
  readonly server: McpServer;
  readonly caller: Caller;
  readonly look: MessageLook;
  readonly isStateless: boolean;
}
