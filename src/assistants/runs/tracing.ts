import type { OutgoingTrace, TracedStep } from '../../core/call-log.ts';
import type { RunRow } from '../../storage/schema.ts';
import {
  BELOW,
  parentIn,
  spanBelow,
  spanIdOf,
  type TraceContext,
  traceparentOf,
} from '../../telemetry/otel/context.ts';
import { KIND, type Span, stepSpan } from '../../telemetry/otel/span.ts';
import type { BuiltInResult } from './built-in.ts';
import { bodyOf, type RunError } from './run.ts';
import type { Exchange } from './step.ts';

export type AddSpan = (span: Span) => void;

/** Where a run stands in the trace of the request that created it; null: that request was not traced. */
export function traceOf({ id, headers }: Pick<RunRow, 'id' | 'headers'>): TraceContext | null {
  const { traceparent, tracestate } = JSON.parse(headers) as Record<string, string>;
  const parent = parentIn(traceparent, tracestate);
  return parent && { ...parent, spanId: spanIdOf(id), parentId: parent.spanId };
}

/** What the run's model calls have as their parent. */
export function parentOfCalls(run: Pick<RunRow, 'id' | 'headers'>): OutgoingTrace | null {
  const trace = traceOf(run);
  return trace && { traceparent: traceparentOf(trace.traceId, trace.spanId, trace.isSampled), tracestate: trace.state };
}

/** A run that has ended. It carries no usage: backends would add it to that of its calls. */
export function runSpan(run: RunRow): Span | null {
  const trace = traceOf(run);
  if (!trace || run.ended_at === null) return null;
  const { code } = (run.last_error === null ? {} : JSON.parse(run.last_error)) as Partial<RunError>;
  const error = code ?? (run.status === 'expired' || run.status === 'failed' ? run.status : null);
  return {
    ...trace,
    name: `invoke_agent ${run.assistant_id}`,
    kind: KIND.internal,
    startMs: run.created_at,
    endMs: run.ended_at,
    attributes: [
      ['gen_ai.operation.name', 'invoke_agent'],
      ['gen_ai.agent.id', run.assistant_id],
      ['gen_ai.conversation.id', run.thread_id],
      ['gen_ai.request.model', bodyOf(run).model],
      ['gateway.run.id', run.id],
      ['gateway.run.status', run.status],
      ['gateway.workspace.id', run.workspace_id],
      ...(run.repeated_calls > 0 ? [['gateway.run.repeated_calls', run.repeated_calls] as const] : []),
      ...(error ? [['error.type', error] as const] : []),
    ],
    isError: error !== null,
    message: error,
  };
}

const TOOL_TYPES = { file_search: 'datastore', code_interpreter: 'extension', function: 'function' } as const;

/** A tool that the gateway carried out, and the search in it. */
export function toolSpans(
  trace: TraceContext,
  { type, id, arguments: given }: Pick<Exchange, 'type' | 'id' | 'arguments'>,
  { ordinal, startedAt, endedAt, result }: Used,
): Span[] {
  const step: TracedStep = {
    ...{ startedAt, endedAt },
    name: `execute_tool ${type}`,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': type,
      'gen_ai.tool.type': TOOL_TYPES[type],
      'gen_ai.tool.call.id': id,
      ...(result === null && { 'error.type': 'tool_failed' }),
    },
    content: { 'gen_ai.tool.call.arguments': given, ...(result && { 'gen_ai.tool.call.result': result.output }) },
  };
  const tool = stepSpan(trace, BELOW.step + ordinal, step);
  if (!result?.searched) return [tool];
  const within = { ...trace, spanId: tool.spanId };
  const search = stepSpan(within, 0, retrieval(result.searched));
  return [tool, { ...search, spanId: spanBelow(trace.spanId, BELOW.within + ordinal) }];
}

export interface Used {
  readonly ordinal: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Null: it failed, and the run with it. */
  readonly result: BuiltInResult | null;
}

/** One search in vector stores. */
export interface Searched {
  readonly storeIds: readonly string[];
  readonly queries: readonly string[];
  readonly most: number;
  readonly found: readonly { readonly id: string; readonly score: number }[];
  readonly startedAt: number;
  readonly endedAt: number;
}

export const retrieval = ({ storeIds, queries, most, found, startedAt, endedAt }: Searched): TracedStep => ({
  ...{ startedAt, endedAt },
  name: `retrieval ${storeIds.join(',')}`,
  attributes: {
    'gen_ai.operation.name': 'retrieval',
    'gen_ai.data_source.id': storeIds.join(','),
    'gen_ai.request.top_k': most,
    'gateway.retrieval.found': found.length,
  },
  content: {
    'gen_ai.retrieval.query.text': queries.join('\n'),
    'gen_ai.retrieval.documents': JSON.stringify(found),
  },
});
