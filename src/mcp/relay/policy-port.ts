import type { CallLog } from '../../core/call-log.ts';
import type { SentHeaders } from '../../http/headers.ts';
import type { Incoming } from '../../http/upstream.ts';
import type { Caller } from '../caller/caller.ts';
import type { MessageLook } from '../message/look.ts';
import type { McpServer } from '../server/server.ts';

/** A call as it stands before the policy of its server. */
export interface AskedCall {
  readonly server: McpServer;
  readonly caller: Caller;
  /** Of HTTP. */
  readonly method: string;
  readonly headers: SentHeaders;
  /** Messages are counted, and so each comes by itself. */
  readonly isCounted: boolean;
  readonly log: CallLog;
}

/**
 * What stands between clients and servers beside the relay: who may use what, guardrails, pinned definitions.
 *
 *     const policed = await policy.open(asked);               // throws 403
 *     const look = policed?.read(bytes);                      // throws what refuses the message
 *     const passed = await policed?.admit();                  // throws 446
 *     const answer = policed ? await policed.answer(incoming) : incoming;
 */
export interface McpPolicy {
  /** Null: nothing of the call has to be looked at, and its bytes pass as they are. */
  open(asked: AskedCall): Promise<PolicedCall | null>;
  /** Whether the caller may use anything of the server. */
  isOpen(server: McpServer, caller: Caller): Promise<boolean>;
}

export interface PolicedCall {
  /** Larger messages are refused. */
  readonly mostBytes: number;
  /** Reads the message, null where the request has none, and refuses what the caller may not use. */
  read(body: Uint8Array | null): MessageLook;
  /** Lets guardrails look at what was read. */
  admit(): Promise<PassedMessage>;
  /** The answer as far as the caller may see it. Cancels what it refuses. */
  answer(incoming: Incoming): Promise<Incoming>;
}

export interface PassedMessage {
  /** Null: as it was sent. */
  readonly body: Uint8Array | null;
  readonly headers: SentHeaders;
}
