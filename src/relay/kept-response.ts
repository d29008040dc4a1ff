import { newObjectId } from '../core/object-ids.ts';
import type { Principal } from '../core/principal.ts';
import type { JsonObject, ModelRequest, Turn } from '../dialects/ir.ts';
import { isObject } from '../dialects/json.ts';
import { continued, takeKept } from '../dialects/responses/kept.ts';
import type { Db } from '../storage/store.ts';
import { parsedRequest } from './rewritten.ts';

type Response = JsonObject & { readonly id: string };

/** Where responses are kept for providers that keep none. */
export interface ResponseKeeper {
  resolved(who: Principal, body: unknown): Promise<unknown>;
  expand(who: Principal, previousId: string): Promise<Turn[]>;
  /** The same as items, as they are kept. */
  items(who: Principal, previousId: string): Promise<readonly JsonObject[]>;
  create(who: Principal, made: Made): Promise<void>;
  /** The same in parts, for one that is made while no client waits: first without output, at last with it. */
  begin(db: Db, who: Principal, made: Made): Promise<void>;
  change(db: Db, id: string, response: JsonObject): Promise<void>;
  end(db: Db, id: string, response: JsonObject): Promise<void>;
  /** Without output; null: it is gone. */
  bodyOf(db: Db, id: string): Promise<JsonObject | null>;
}

interface Made {
  readonly response: Response;
  readonly input: unknown;
  readonly previousId?: string;
  readonly traceId?: string;
}

/** Where conversations are kept that responses go on in. */
export interface ConversationKeeper {
  items(who: Principal, id: string): Promise<readonly JsonObject[]>;
  said(who: Principal, id: string, said: { input: unknown; output: unknown }): Promise<void>;
  /** The same in a transaction. One that was deleted meanwhile takes nothing. */
  saidIn(db: Db, workspaceId: string, id: string, said: { input: unknown; output: unknown }): Promise<void>;
}

/** A call of the Responses API whose conversation the gateway keeps. */
export interface KeptResponse {
  readonly id: string;
  /** The client's body, with references to earlier items resolved. */
  readonly body: unknown;
  /** What the provider is asked: the earlier conversation, then this request. */
  asked(request: ModelRequest): ModelRequest;
  /** To be awaited before the client sees that the response is complete. */
  keep(request: ModelRequest, response: Response): Promise<void>;
}

export async function openKeptResponse(
  who: Principal,
  bytes: Uint8Array,
  keeper: ResponseKeeper,
  traceId?: string,
): Promise<KeptResponse> {
  const body = await keeper.resolved(who, parsedRequest(bytes));
  const members = isObject(body) ? body : {};
  const previousId = typeof members.previous_response_id === 'string' ? members.previous_response_id : undefined;
  const earlier = previousId ? await keeper.expand(who, previousId) : [];
  return {
    id: newObjectId('response'),
    body,
    asked: (request) => continued(takeKept(request).request, earlier),
    keep: async (request, response) => {
      if (!takeKept(request).kept.isStored) return;
      const { input } = members;
      await keeper.create(who, { response, input, ...(previousId && { previousId }), ...(traceId && { traceId }) });
    },
  };
}
