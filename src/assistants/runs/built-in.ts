import type { OutgoingTrace } from '../../core/call-log.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import type { Proven } from '../../guardrails/proof.ts';
import type { SentHeaders } from '../../http/headers.ts';
import type { RunRow } from '../../storage/schema.ts';
import { codeIn } from '../interpreter/code-argument.ts';
import type { Tool } from '../tools.ts';
import type { Mark } from './annotations.ts';
import type { Citable } from './citations.ts';
import type { RunBody } from './run.ts';
import type { ToolCall } from './step.ts';
import type { Searched } from './tracing.ts';

/**
 * Tools that the gateway carries out itself. Models see them as functions that are named like the tool; a run that calls
 * one goes on by itself. Each is a port, given at composition: a tool without one is refused when it is asked for.
 */
export type BuiltInType = 'file_search' | 'code_interpreter';
export type BuiltInTools = Readonly<Partial<Record<BuiltInType, BuiltIn>>>;

export interface BuiltIn {
  /** What the model is told about it. */
  offer(tool: Tool, run: RunBody, thread: ThreadPlace): Promise<BuiltInOffer>;
  /** What in the model's text means something it has made. */
  marks?(thread: ThreadPlace): Promise<readonly Mark[]>;
  /**
   * Does what the model asked for. May be called again for the same call, when a process died meanwhile. A request that
   * cannot be served is an output that says so; whatever is thrown fails the run.
   */
  carryOut(call: BuiltInCall): Promise<BuiltInResult>;
}

export interface ThreadPlace {
  readonly workspaceId: WorkspaceId;
  readonly threadId: string;
}

export const placeOf = (run: Pick<RunRow, 'workspace_id' | 'thread_id'>): ThreadPlace => ({
  workspaceId: run.workspace_id as WorkspaceId,
  threadId: run.thread_id,
});

export interface BuiltInOffer {
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface BuiltInCall extends ThreadPlace {
  readonly id: string;
  /** Which of the run's calls of tools it is, from 0. */
  readonly ordinal: number;
  /** As the model wrote them: not necessarily JSON. */
  readonly arguments: string;
  readonly runId: string;
  readonly run: RunBody;
  /** What the caller that let the run go on has proven to guardrails, for models that the tool asks. */
  readonly proven: Proven;
  /** In whose name the tool may ask models, as the run does. */
  readonly caller: ToolCaller;
  /** Aborted when the run is cancelled, expires, or goes on elsewhere. */
  readonly signal: AbortSignal;
}

export interface ToolCaller {
  /** As they are now; throws when they are gone. */
  readonly who: () => Promise<Principal>;
  readonly headers: SentHeaders;
  readonly proven: Proven;
  readonly traceId: string;
  readonly trace: OutgoingTrace | null;
  readonly sessionId: string;
  readonly route: string;
}

export interface BuiltInResult {
  /** The call as its step shows it. */
  readonly shown: ToolCall;
  /** What the model gets to read. */
  readonly output: string;
  /** What of it the model may cite. */
  readonly citables?: readonly Citable[];
  /** Where it looked, for traces. */
  readonly searched?: Searched;
}

export const isBuiltIn = (type: Tool['type']): type is BuiltInType => type !== 'function';

/** A call as it is shown before anything has come of it; the code of one whose arguments still come in is given. */
export function begunCall(
  type: ToolCall['type'],
  call: { id: string; name: string; arguments: string },
  code = codeIn(call.arguments) ?? call.arguments,
): ToolCall {
  const { id } = call;
  if (type === 'file_search') return { id, type, file_search: {} };
  if (type === 'code_interpreter') return { id, type, code_interpreter: { input: code, outputs: [] } };
  return { id, type, function: { name: call.name, arguments: call.arguments, output: null } };
}
