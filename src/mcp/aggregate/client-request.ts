import type { McpTools } from '../../core/principal.ts';
import type { ReadMessage } from '../message/message.ts';
import type { McpServer } from '../server/server.ts';
import type { Client } from './conversation.ts';
import type { FindChannel } from './lists.ts';

/** A message, and all that is known of the client that sent it. */
export interface ClientRequest {
  readonly client: Client;
  readonly message: ReadMessage & { readonly method: string };
  readonly body: Uint8Array;
  readonly isNewer: boolean;
  /** Those that this caller can be let in at without another credential. */
  readonly servers: readonly McpServer[];
  /** The others of the workspace. */
  readonly closed: readonly McpServer[];
  readonly find: FindChannel;
  readonly shows: McpTools;
}
