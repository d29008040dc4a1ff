import type { CallLog } from '../../core/call-log.ts';
import type { EndpointType } from '../../core/endpoints.ts';
import type { GuardrailUse } from '../../core/guardrails.ts';
import type { Principal } from '../../core/principal.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import type { Reach } from '../../guardrails/guardrails.ts';
import type { Proving } from '../../guardrails/proof.ts';
import type { BodyHead } from '../../guardrails/reading.ts';
import type { SentHeaders } from '../../http/headers.ts';

/** One exchange that is to be guarded: a model call, a line of a batch, a message of a thread, a call of a tool. */
export interface GuardedCall {
  readonly who: Reach & { readonly defaults?: Principal['defaults'] };
  /** In whose name a check may ask a model; without one it asks none. */
  readonly principal?: Principal;
  /** What the config of the call, or the MCP server, asks for beside what holds anyway. */
  readonly asked: GuardrailUse | null;
  /** Who chose `asked`: the operator, unless it says otherwise. */
  readonly askedBy?: AskedBy;
  readonly endpoint: EndpointType;
  /** Of the request, by lower-case name. */
  readonly headers: SentHeaders;
  /** The query with its question mark, where it says something to the provider or server. */
  readonly search?: string;
  readonly model: string | null;
  /** The model that the address names, whatever the body says. */
  readonly addressed?: string | null;
  readonly provider: string | null;
  readonly isStream: () => boolean;
  /** Answers keep to the vendor's own form unless something failed. */
  readonly isStrict: boolean;
  /** Of work that goes on without its caller: while it is accepted, only checks look that prove something. */
  readonly proving?: Proving;
  readonly log: Pick<CallLog, 'metadata' | 'hookResults' | 'awaits' | 'usage'> &
    Partial<Pick<CallLog, 'callTrace' | 'answeredBy'>>;
}

/**
 * Who chose the guardrails that are asked for. What an operator imposes has the last word; what a caller brings or names
 * looks before it. Only what a caller wrote explains itself to that caller.
 */
export type AskedBy = 'operator' | 'caller-naming' | 'caller-writing';

/** What has become of a request that passed. */
export interface Passed {
  /** Null: nothing of it was changed. */
  readonly body: Uint8Array | null;
  /** To set on the request, by lower-case name; null takes one away. */
  readonly headers: Readonly<Record<string, string | null>>;
}

export interface GuardedBody extends Partial<BodyHead> {
  readonly bytes: Uint8Array | null;
}

/** The guardrails of one side. */
export interface Stages {
  /** What holds whatever the caller says: its word is the last one. */
  readonly operators: readonly Guardrail[];
  /** What the caller brings or names. */
  readonly callers: readonly Guardrail[];
  /** Those that the caller wrote, so that nothing they say is news to the caller. */
  readonly written: ReadonlySet<Guardrail>;
}
