import type { WorkspaceId } from '../../core/ids.ts';
import type { Tool } from '../tools.ts';
import type { RunBody } from './run.ts';
import type { ToolCall } from './step.ts';

/**
 * Tools that the gateway carries out itself. Models see them as functions that are named like the tool; a run that calls
 * one goes on by itself. Each is a port, given at composition: a tool without one is refused when it is asked for.
 */
export type BuiltInType = 'file_search' | 'code_interpreter';
export type BuiltInTools = Readonly<Partial<Record<BuiltInType, BuiltIn>>>;

export interface BuiltIn {
  /** What the model is told about it. */
  offer(tool: Tool, run: RunBody): BuiltInOffer;
  /**
   * Does what the model asked for. May be called again for the same call, when a process died meanwhile. A request that
   * cannot be served is an output that says so; whatever is thrown fails the run.
   */
  carryOut(call: BuiltInCall): Promise<BuiltInResult>;
}

export interface BuiltInOffer {
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface BuiltInCall {
  readonly id: string;
  /** As the model wrote them: not necessarily JSON. */
  readonly arguments: string;
  readonly workspaceId: WorkspaceId;
  readonly threadId: string;
  readonly runId: string;
  readonly run: RunBody;
  /** Aborted when the run is cancelled, expires, or goes on elsewhere. */
  readonly signal: AbortSignal;
}

export interface BuiltInResult {
  /** The call as its step shows it. */
  readonly shown: ToolCall;
  /** What the model gets to read. */
  readonly output: string;
}

export const isBuiltIn = (type: Tool['type']): type is BuiltInType => type !== 'function';

/** A call as it is shown before anything has come of it. */
export function begunCall(type: ToolCall['type'], call: { id: string; name: string; arguments: string }): ToolCall {
  const { id } = call;
  if (type === 'file_search') return { id, type, file_search: {} };
  if (type === 'code_interpreter') return { id, type, code_interpreter: { input: '', outputs: [] } };
  return { id, type, function: { name: call.name, arguments: call.arguments, output: null } };
}
