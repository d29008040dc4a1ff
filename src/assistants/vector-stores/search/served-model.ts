import * as z from 'zod';
import type { OutgoingTrace } from '../../../core/call-log.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Principal } from '../../../core/principal.ts';
import { schemaOf } from '../../../core/schema.ts';
import type { Proven } from '../../../guardrails/proof.ts';
import type { SentHeaders } from '../../../http/headers.ts';
import { sessionIn } from '../../../http/session-id.ts';
import type { ServedBy } from '../../../relay/hosted/served/served.ts';
import type { CallModel } from '../../../relay/internal.ts';

export interface ServedModelDeps {
  readonly callModel: CallModel;
  /** Throws `unknown_virtual_key` when the workspace has none of that name. */
  readonly resolveKey: (who: Principal, slug: string) => Promise<unknown>;
}

/** Who searches: the one whose limits count the calls of models that help, and whose guardrails judge them. */
export interface SearchCaller {
  /** As they are now; throws when they are gone. */
  readonly who: () => Promise<Principal>;
  /** Of the request that searches. */
  readonly headers: SentHeaders;
  /** What was proven to guardrails when the work was accepted that searches. */
  readonly proven?: Proven;
  readonly traceId?: string;
  readonly trace?: OutgoingTrace | null;
  readonly sessionId?: string;
  readonly route: string;
}

export interface AskedFor {
  readonly caller: SearchCaller;
  readonly signal: AbortSignal;
}

/** What came of asking: `off` where the operator or the workspace has no such model, `failed` where it gave no good answer. */
export type Served<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'off' }
  | { readonly kind: 'failed' };

export type ServedModel = <Answer>(
  asked: AskedFor,
  call: {
    readonly path: string;
    readonly body: object;
    /** Null: the answer makes no sense. */
    readonly read: (answer: unknown) => Answer | null;
  },
) => Promise<Served<Answer>>;

/** A search does without the model rather than let its client wait for longer. */
const LONGEST_MS = 10_000;
/** What the caller says of its calls for the log; whom to ask is the operator's affair. */
const PASSED = ['x-gateway-metadata', 'x-gateway-debug'];

/**
 * A model that helps a search, by the operator's choice, called as the caller calls models: limits, guardrails, retries and the
 * log apply. A search is never worse off than without it: what goes wrong is `failed`, and the log of calls says why.
 */
export function createServedModel(by: ServedBy, { callModel, resolveKey }: ServedModelDeps): ServedModel {
  /** Null: the workspace has no virtual key of that name. One that cannot be used is the failure of the call. */
  const callerOf = async ({ who }: SearchCaller): Promise<Principal | null> => {
    const principal = await who();
    try {
      await resolveKey(principal, by.virtualKey);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status >= 500) throw error;
      if (error.code === 'unknown_virtual_key') return null;
    }
    return principal;
  };

  return async ({ caller, signal }, { path, body, read }) => {
    const deadline = AbortSignal.timeout(LONGEST_MS);
    try {
      const who = await callerOf(caller);
      if (!who) return { kind: 'off' };
      const { headers, proven, traceId, trace, sessionId, route } = caller;
      const passed = PASSED.flatMap((name) =>
        headers[name] === undefined ? [] : [[name, String(headers[name])] as const],
      );
      const response = await callModel({
        ...{ who, path, proven, traceId, trace, route },
        body: JSON.stringify({ ...body, model: by.model }),
        headers: { ...Object.fromEntries(passed), 'x-gateway-virtual-key': by.virtualKey },
        inServiceOf: headers,
        sessionId: sessionIn(headers) ?? sessionId,
        signal: AbortSignal.any([signal, deadline]),
      });
      const text = await response.text();
      signal.throwIfAborted();
      const answer = response.ok ? read(parsed(text)) : null;
      return answer === null ? { kind: 'failed' } : { kind: 'answered', answer };
    } catch (error) {
      signal.throwIfAborted();
      // The gateway's own store is needed for the search itself.
      if (error instanceof GatewayError && error.status >= 500) throw error;
      return { kind: 'failed' };
    }
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const chatSchema = () =>
  z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1) });

/** What a model of a chat has said; null: nothing. */
export const saidIn = (answer: unknown): string | null =>
  schemaOf(chatSchema).safeParse(answer).data?.choices[0]?.message.content ?? null;
