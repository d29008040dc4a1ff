import type { LogRow } from '../log-columns.ts';
import { USER_LABEL } from '../log-sink.ts';
import { type PackedBody, PlainSides, sizeOf } from '../packed-bodies.ts';
import {
  decisionsOf as decisionsIn,
  type ShownDecision,
  type TimedAttempt,
  type TimedAttempts,
  timesOf,
} from '../shown-attempts.ts';
import { type Call, type SpanOptions, sharedByAttempts, sharedByCalls } from './common.ts';
import {
  answerAttributes,
  inputContent,
  outputContent,
  parsedBody,
  requestAttributes,
  tellsParameters,
} from './content.ts';
import { BELOW, spanBelow } from './context.ts';
import type { Attributes } from './encode.ts';
import { mcpFacts } from './mcp.ts';
import { operationOf } from './names.ts';
import type { PostedTrace } from './record.ts';
import { KIND, ListedSpans, type SpanLink, type SpanSink, tell } from './span.ts';

/** Larger blocks are not put together for their parameters. */
const MOST_BODY_BYTES = 512 * 1024;

/** What the log keeps of the bodies, as far as spans show it. */
interface Said {
  readonly request: Attributes;
  readonly answer: Attributes;
  readonly input: Attributes;
  readonly output: Attributes;
}

const NONE: Attributes = [];
const NOTHING_SAID: Said = { request: NONE, answer: NONE, input: NONE, output: NONE };

/** The spans of one call: its own, and below it those of its guardrails, its cache and each request to a provider. */
export function addSpans(
  sink: SpanSink,
  row: LogRow,
  trace: PostedTrace,
  bodies: PackedBody | null,
  options: SpanOptions,
): void {
  const path = pathOf(row.path);
  const call: Call = { row, trace, path, metadata: metadataOf(row), options };
  if (trace[12] !== undefined) {
    addLateGuardrails(sink, call, trace[12]);
    return;
  }
  const tried = timesOf(row);
  if (row.provider === 'mcp') {
    addMcpSpans(sink, call, tried);
    return;
  }
  const operation = operationOf(path);
  const said = operation !== null && bodies ? saidIn(bodies, options) : NOTHING_SAID;
  addOwnSpan(sink, call, tried, said);
  addGuardrailSpans(sink, call, decisionsOf(row, tried), 0);
  addCacheSpans(sink, call, tried);
  addAttemptSpans(sink, call, tried.attempts, operation, said);
}

/** Who was called and who calls have a span each, of one name. */
function addMcpSpans(sink: SpanSink, call: Call, tried: TimedAttempts): void {
  const { name, attributes, error } = mcpFacts(call.row);
  const listed = new ListedSpans();
  addOwnSpan(listed, call, tried, NOTHING_SAID);
  addAttemptSpans(listed, call, tried.attempts, null, NOTHING_SAID);
  for (const span of listed.take()) {
    const others = without(span.attributes, error).filter(([key]) => !key.startsWith('gen_ai.'));
    const isError = span.isError || error !== null;
    tell(sink, { ...span, name, attributes: [...attributes, ...others], isError });
  }
  addGuardrailSpans(sink, call, decisionsOf(call.row, tried), 0);
}

/** An attribute stands once: what MCP calls the error goes before what the log calls it. */
const without = (attributes: Attributes, error: string | null): Attributes =>
  error === null ? attributes : attributes.filter(([key]) => key !== 'error.type');

const pathOf = (path: string): string => {
  const mark = path.indexOf('?');
  return mark < 0 ? path : path.slice(0, mark);
};

const metadataOf = ({ metadata }: LogRow): Call['metadata'] =>
  metadata === null ? null : (JSON.parse(metadata) as Record<string, string>);

/** What a caller says of a call: seldom the same for two of them. */
function addSaid(sink: SpanSink, { row, metadata }: Call): void {
  sink.add('gateway.trace.id', row.trace_id);
  if (row.session_id) sink.add('session.id', row.session_id);
  const user = metadata?.[USER_LABEL] ?? row.user_id;
  if (user) sink.add('user.id', user);
  for (const name in metadata) sink.add(`gateway.metadata.${name}`, metadata[name]!);
}

function saidIn(pieces: PackedBody, { hasContent }: SpanOptions): Said {
  if (sizeOf(pieces) > MOST_BODY_BYTES) return NOTHING_SAID;
  const sides = new PlainSides(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
  const asked = sides.requestText();
  const request = asked !== null && (hasContent || tellsParameters(asked)) ? parsedBody(sides.request()) : null;
  const answer = sides.responseText();
  const response = hasContent && !sides.isResponseCut ? sides.response() : null;
  return {
    request: request ? requestAttributes(request) : NONE,
    answer: answer ? answerAttributes(answer) : NONE,
    input: hasContent && request ? inputContent(request) : NONE,
    output: response ? outputContent(response) : NONE,
  };
}

/** The ids of a span below a call. */
const below = ({ trace }: Call, number: number) => ({
  traceId: trace[0],
  spanId: spanBelow(trace[1], number),
  parentId: trace[1],
  isSampled: trace[3] === 1,
  state: trace[4],
});

function addOwnSpan(sink: SpanSink, call: Call, { attempts, cache }: TimedAttempts, said: Said): void {
  const { row, trace, path } = call;
  const [traceId, spanId, parentId, isSampled, state, route, isInternal] = trace;
  const { status, error_code, failed_by } = row;
  sink.begin({
    traceId,
    spanId,
    parentId,
    state,
    isSampled: isSampled === 1,
    name: `${row.method} ${isInternal ? path : route}`,
    kind: isInternal ? KIND.internal : KIND.server,
    startMs: row.created_at,
    endMs: row.created_at + row.duration_ms,
    // A refusal is the client's business (4xx); the span of a server fails when the server does.
    isError: status >= 500 || (failed_by !== null && failed_by !== 'client' && status < 400),
    message: error_code,
    links: trace[11] ? [linkIn(trace[11])] : undefined,
  });
  sink.addShared(sharedByCalls(call));
  sink.add('http.response.status_code', status);
  sink.add('gateway.request.id', row.id);
  if (row.attempt_count) sink.add('gateway.attempts', row.attempt_count);
  if (attempts.length > (row.attempt_count ?? 0)) addSkipped(sink, attempts);
  if (cache) sink.add('gateway.cache.status', cache.status);
  if (status >= 400 || failed_by !== null) sink.add('error.type', error_code ?? String(status));
  if (failed_by) sink.add('gateway.failed_by', failed_by);
  addSaid(sink, call);
  sink.addAll(said.input);
  sink.addAll(said.output);
  sink.end();
}

function addSkipped(sink: SpanSink, attempts: readonly TimedAttempt[]): void {
  const skipped = attempts
    .filter(({ skipped: isSkipped }) => isSkipped)
    .map(({ target, reason, error_code: code }) => `${target}: ${reason ?? code ?? 'not asked'}`);
  if (skipped.length > 0) sink.add('gateway.skipped_targets', skipped);
}

const linkIn = (link: string): SpanLink => {
  const [traceId = '', spanId = ''] = link.split('-');
  return { traceId, spanId };
};

/** Those of every attempt; where no target was reached, those of the call. */
function decisionsOf(row: LogRow, { attempts }: TimedAttempts): readonly ShownDecision[] {
  if (attempts.length === 1) return attempts[0]!.guardrails;
  if (attempts.length > 0) return attempts.flatMap(({ guardrails }) => guardrails);
  return row.hook_results === null ? [] : decisionsIn(row.hook_results, row.created_at);
}

/** Those that only observe end after the call, whose other spans have gone by then. */
function addLateGuardrails(sink: SpanSink, call: Call, foundBefore: string): void {
  const { row } = call;
  if (row.hook_results === null) return;
  const keyOf = ({ hook, id, started_ms }: ShownDecision) => `${hook} ${started_ms} ${id}`;
  const before = decisionsIn(foundBefore, row.created_at);
  const known = new Set(before.map(keyOf));
  const late = decisionsIn(row.hook_results, row.created_at).filter((decision) => !known.has(keyOf(decision)));
  addGuardrailSpans(sink, call, late, before.length);
}

function addGuardrailSpans(sink: SpanSink, call: Call, decisions: readonly ShownDecision[], from: number): void {
  for (let at = 0; at < decisions.length; at++) {
    const { hook, id, verdict, deny, started_ms, duration_ms } = decisions[at]!;
    const startMs = call.row.created_at + started_ms;
    const name = `guardrail ${id}`;
    const ids = below(call, BELOW.guardrail + from + at);
    sink.begin({ ...ids, name, kind: KIND.internal, startMs, endMs: startMs + duration_ms, isError: false });
    sink.add('gateway.guardrail.id', id);
    sink.add('gateway.guardrail.hook', hook);
    sink.add('gateway.guardrail.verdict', verdict === null ? 'none' : verdict ? 'passed' : 'failed');
    sink.add('gateway.guardrail.denied', deny && verdict === false);
    sink.end();
  }
}

function addCacheSpans(sink: SpanSink, call: Call, { attempts, cache }: TimedAttempts): void {
  let number = 0;
  const add = ({ status, started_ms, duration_ms }: NonNullable<TimedAttempt['cache']>) => {
    const startMs = call.row.created_at + started_ms;
    const ids = below(call, BELOW.cache + number++);
    const endMs = startMs + duration_ms;
    sink.begin({ ...ids, name: 'cache lookup', kind: KIND.internal, startMs, endMs, isError: false });
    sink.add('gateway.cache.status', status);
    sink.end();
  };
  for (const attempt of attempts) if (attempt.cache) add(attempt.cache);
  if (cache) add(cache);
}

/** Requests to providers carry their number in the order in which they were made. */
function addAttemptSpans(
  sink: SpanSink,
  call: Call,
  attempts: readonly TimedAttempt[],
  operation: string | null,
  said: Said,
): void {
  const last = attempts.findLast(({ skipped }) => !skipped);
  let number = 0;
  for (const attempt of attempts)
    if (!attempt.skipped)
      addAttemptSpan(sink, call, attempt, { number: ++number, isLast: attempt === last, operation, said });
}

interface Asked {
  readonly number: number;
  readonly isLast: boolean;
  /** Null: not one of those that the conventions speak of. */
  readonly operation: string | null;
  readonly said: Said;
}

function addAttemptSpan(sink: SpanSink, call: Call, attempt: TimedAttempt, asked: Asked): void {
  const { row, path } = call;
  const { number, isLast, operation, said } = asked;
  const { provider, model, host, status, error_code } = attempt;
  const hasFailed = error_code !== null || (status !== null && status >= 400);
  sink.begin({
    traceId: call.trace[0],
    spanId: spanBelow(call.trace[1], BELOW.attempt + number),
    parentId: call.trace[1],
    isSampled: call.trace[3] === 1,
    state: call.trace[4],
    name: operation ? (model ? `${operation} ${model}` : operation) : `${row.method} ${host ?? provider ?? path}`,
    kind: KIND.client,
    startMs: row.created_at + attempt.started_ms,
    endMs: row.created_at + attempt.ended_ms,
    isError: hasFailed,
    message: error_code,
  });
  sink.addShared(sharedByAttempts(call, attempt, operation));
  if (row.session_id) sink.add('gen_ai.conversation.id', row.session_id);
  if (status !== null) sink.add('http.response.status_code', status);
  if (attempt.connect_ms !== null) sink.addDouble('gateway.connect_ms', attempt.connect_ms);
  if (number > 1) sink.add('http.request.resend_count', number - 1);
  if (hasFailed) sink.add('error.type', error_code ?? String(status));
  if (operation) {
    sink.addAll(said.request);
    addAnswer(sink, call, attempt, isLast);
    sink.addAll(said.input);
    if (isLast) {
      sink.addAll(said.answer);
      sink.addAll(said.output);
    }
  }
  addSaid(sink, call);
  sink.end();
}

/** Usage stands at requests to models and nowhere else: backends add up what they find. */
function addAnswer(sink: SpanSink, { row, trace, options }: Call, attempt: TimedAttempt, isLast: boolean): void {
  const { input_tokens, output_tokens, cost, started_ms } = attempt;
  if (input_tokens !== null) sink.add('gen_ai.usage.input_tokens', input_tokens);
  if (output_tokens !== null) sink.add('gen_ai.usage.output_tokens', output_tokens);
  if (cost !== null) sink.addDouble('gen_ai.usage.cost', cost);
  if (!isLast) return;
  const [answeredBy, written] = [trace[9], trace[10]];
  if (answeredBy) sink.add('gen_ai.response.model', answeredBy);
  if (row.cached_tokens !== null) sink.add('gen_ai.usage.cache_read.input_tokens', row.cached_tokens);
  if (written !== null) {
    if (options.semconv !== 'latest') sink.add('gen_ai.usage.cache_creation.input_tokens', written);
    if (options.semconv !== '1.41') sink.add('gen_ai.usage.cache_write.input_tokens', written);
  }
  if (row.reasoning_tokens !== null) sink.add('gen_ai.usage.reasoning.output_tokens', row.reasoning_tokens);
  if (row.is_stream && row.first_byte_ms !== null && row.first_byte_ms >= started_ms)
    sink.addDouble('gen_ai.response.time_to_first_chunk', (row.first_byte_ms - started_ms) / 1_000);
}
