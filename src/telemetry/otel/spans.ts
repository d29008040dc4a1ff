import type { PackedHookResults } from '../../core/hook-results.ts';
import { decisionsIn } from '../attempts.ts';
import type { LogRow } from '../log-columns.ts';
import { USER_LABEL } from '../log-sink.ts';
import { type PackedBody, sizeOf, unpack } from '../packed-bodies.ts';
import type { LogBodies } from '../record.ts';
import { type ShownAttempt, type ShownAttempts, type ShownDecision, showAttempts } from '../shown-attempts.ts';
import { isEncoded } from '../usage.ts';
import { answerAttributes, inputContent, outputContent, parsedBody, requestAttributes } from './content.ts';
import { BELOW, spanBelow } from './context.ts';
import { type Attributes, type AttributeValue, Double } from './encode.ts';
import { mcpFacts } from './mcp.ts';
import { openaiApi, operationOf, providerName, type Semconv } from './names.ts';
import type { PostedTrace } from './record.ts';
import { KIND, type Span, type SpanLink } from './span.ts';

export interface SpanOptions {
  readonly semconv: Semconv;
  /** Whether what was said goes along. */
  readonly hasContent: boolean;
}

/** Larger blocks are not put together for their parameters. */
const MOST_BODY_BYTES = 512 * 1024;

type Pairs = (readonly [string, AttributeValue])[];

/** What all spans of a call have in common. */
interface Call {
  readonly row: LogRow;
  readonly trace: PostedTrace;
  /** Without its query. */
  readonly path: string;
  /** Who called, and what the caller says of the call. */
  readonly dimensions: Attributes;
  readonly options: SpanOptions;
}

/** What the log keeps of the bodies, as far as spans show it. */
interface Said {
  readonly request: Attributes;
  readonly answer: Attributes;
  readonly input: Attributes;
  readonly output: Attributes;
}

const NOTHING_SAID: Said = { request: [], answer: [], input: [], output: [] };

/** The spans of one call: its own, and below it those of its guardrails, its cache and each request to a provider. */
export function spansOf(row: LogRow, trace: PostedTrace, bodies: PackedBody | null, options: SpanOptions): Span[] {
  const path = pathOf(row.path);
  const call: Call = { row, trace, path, dimensions: dimensionsOf(row, trace), options };
  const tried = showAttempts(row, []);
  if (trace[12] !== undefined) return lateGuardrails(call, trace[12]);
  if (row.provider === 'mcp') return mcpSpans(call, tried);
  const operation = operationOf(path);
  const said = operation !== null && bodies ? saidIn(bodies, options) : NOTHING_SAID;
  return [
    ownSpan(call, tried, said),
    ...decisionsOf(row, tried).map((decision, at) => guardrailSpan(call, decision, at)),
    ...cacheSpans(call, tried),
    ...attemptSpans(call, tried.attempts, operation, said),
  ];
}

/** Who was called and who calls have a span each, of one name. */
function mcpSpans(call: Call, tried: ShownAttempts): Span[] {
  const own = ownSpan(call, tried, NOTHING_SAID);
  const { name, attributes, error } = mcpFacts(call.row);
  const asked = tried.attempts.filter(({ skipped }) => !skipped);
  return [
    {
      ...own,
      name,
      attributes: [...attributes, ...without(own.attributes, error)],
      isError: own.isError || error !== null,
    },
    ...decisionsOf(call.row, tried).map((decision, at) => guardrailSpan(call, decision, at)),
    ...asked.map((attempt, at) => {
      const span = attemptSpan(call, attempt, { number: at + 1, isLast: false, operation: null, said: NOTHING_SAID });
      const others = without(span.attributes, error).filter(([key]) => !key.startsWith('gen_ai.'));
      return { ...span, name, attributes: [...attributes, ...others], isError: span.isError || error !== null };
    }),
  ];
}

/** An attribute stands once: what MCP calls the error goes before what the log calls it. */
const without = (attributes: Attributes, error: string | null): Attributes =>
  error === null ? attributes : attributes.filter(([key]) => key !== 'error.type');

const pathOf = (path: string): string => {
  const mark = path.indexOf('?');
  return mark < 0 ? path : path.slice(0, mark);
};

function dimensionsOf(row: LogRow, [, , , , , , , keyName, workspaceSlug]: PostedTrace): Attributes {
  const pairs: Pairs = [];
  const add = (name: string, value: string | null) => {
    if (value !== null && value !== '') pairs.push([name, value]);
  };
  add('gateway.workspace.id', row.workspace_id);
  add('gateway.workspace.name', workspaceSlug);
  add('gateway.api_key.id', row.api_key_id);
  add('gateway.api_key.name', keyName);
  add('gateway.user.id', row.user_id);
  add('gateway.trace.id', row.trace_id);
  add('session.id', row.session_id);
  const metadata = row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>);
  add('user.id', metadata[USER_LABEL] ?? row.user_id);
  for (const name in metadata) pairs.push([`gateway.metadata.${name}`, metadata[name]!]);
  return pairs;
}

function saidIn(pieces: PackedBody, { hasContent }: SpanOptions): Said {
  if (sizeOf(pieces) > MOST_BODY_BYTES) return NOTHING_SAID;
  const kept = unpack(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
  const request = kept.request_truncated ? null : parsedBody(plainBody(kept, 'request'));
  const response = plainBody(kept, 'response');
  return {
    request: request ? requestAttributes(request) : [],
    answer: response ? answerAttributes(response) : [],
    input: hasContent && request ? inputContent(request) : [],
    output: hasContent && response && !kept.response_truncated ? outputContent(response) : [],
  };
}

const plainBody = (kept: LogBodies, side: 'request' | 'response'): Uint8Array | null =>
  isEncoded(kept[`${side}_headers`]['content-encoding']) ? null : kept[`${side}_body`];

const below = ({ trace: [traceId, spanId, , isSampled, state] }: Call, number: number) => ({
  traceId,
  spanId: spanBelow(spanId, number),
  parentId: spanId,
  isSampled: isSampled === 1,
  state,
});

function ownSpan(call: Call, { attempts, cache }: ShownAttempts, said: Said): Span {
  const { row, trace, path, dimensions } = call;
  const [traceId, spanId, parentId, isSampled, state, route, isInternal] = trace;
  const { status, error_code, failed_by } = row;
  const hasFailed = status >= 400 || failed_by !== null;
  // A refusal is the client's business (4xx); the span of a server fails when the server does.
  const isError = status >= 500 || (failed_by !== null && failed_by !== 'client' && status < 400);
  const skipped = attempts
    .filter(({ skipped: isSkipped }) => isSkipped)
    .map(({ target, reason, error_code: code }) => `${target}: ${reason ?? code ?? 'not asked'}`);
  const attributes: Pairs = [
    ['http.request.method', row.method],
    ['url.path', path],
    ['http.route', route],
    ['http.response.status_code', status],
    ['gateway.request.id', row.id],
  ];
  if (row.client_address) attributes.push(['client.address', row.client_address]);
  if (row.virtual_key) attributes.push(['gateway.virtual_key', row.virtual_key]);
  if (row.attempt_count) attributes.push(['gateway.attempts', row.attempt_count]);
  if (skipped.length > 0) attributes.push(['gateway.skipped_targets', skipped]);
  if (cache) attributes.push(['gateway.cache.status', cache.status]);
  if (hasFailed) attributes.push(['error.type', error_code ?? String(status)]);
  if (failed_by) attributes.push(['gateway.failed_by', failed_by]);
  attributes.push(...dimensions, ...said.input, ...said.output);
  return {
    ...{ traceId, spanId, parentId, state },
    isSampled: isSampled === 1,
    name: `${row.method} ${isInternal ? path : route}`,
    kind: isInternal ? KIND.internal : KIND.server,
    startMs: row.created_at,
    endMs: row.created_at + row.duration_ms,
    attributes,
    isError,
    message: error_code,
    ...(trace[11] && { links: [linkIn(trace[11])] }),
  };
}

const linkIn = (link: string): SpanLink => {
  const [traceId = '', spanId = ''] = link.split('-');
  return { traceId, spanId };
};

/** Those of every attempt; where no target was reached, those of the call. */
function decisionsOf(row: LogRow, { attempts }: ShownAttempts): readonly ShownDecision[] {
  if (attempts.length > 0) return attempts.flatMap(({ guardrails }) => guardrails);
  return row.hook_results === null ? [] : decisionsInText(row.hook_results, row.created_at);
}

function decisionsInText(results: string, openedAt: number): ShownDecision[] {
  const found = JSON.parse(results) as PackedHookResults;
  return [
    ...decisionsIn('input', found.before_request_hooks ?? [], openedAt),
    ...decisionsIn('output', found.after_request_hooks ?? [], openedAt),
  ].map(({ at, ms, ...decision }) => ({ ...decision, started_ms: at, duration_ms: ms }));
}

/** Those that only observe end after the call, whose other spans have gone by then. */
function lateGuardrails(call: Call, foundBefore: string): Span[] {
  const { row } = call;
  if (row.hook_results === null) return [];
  const keyOf = ({ hook, id, started_ms }: ShownDecision) => `${hook} ${started_ms} ${id}`;
  const before = decisionsInText(foundBefore, row.created_at);
  const known = new Set(before.map(keyOf));
  return decisionsInText(row.hook_results, row.created_at)
    .filter((decision) => !known.has(keyOf(decision)))
    .map((decision, at) => guardrailSpan(call, decision, before.length + at));
}

function guardrailSpan(call: Call, decision: ShownDecision, at: number): Span {
  const { hook, id, verdict, deny, started_ms, duration_ms } = decision;
  const isDenied = deny && verdict === false;
  const startMs = call.row.created_at + started_ms;
  return {
    ...below(call, BELOW.guardrail + at),
    name: `guardrail ${id}`,
    kind: KIND.internal,
    startMs,
    endMs: startMs + duration_ms,
    attributes: [
      ['gateway.guardrail.id', id],
      ['gateway.guardrail.hook', hook],
      ['gateway.guardrail.verdict', verdict === null ? 'none' : verdict ? 'passed' : 'failed'],
      ['gateway.guardrail.denied', isDenied],
    ],
    isError: false,
  };
}

function cacheSpans(call: Call, { attempts, cache }: ShownAttempts): Span[] {
  const looks = [...attempts.map((attempt) => attempt.cache), cache].filter((each) => each !== null);
  return looks.map(({ status, started_ms, duration_ms }, at) => ({
    ...below(call, BELOW.cache + at),
    name: 'cache lookup',
    kind: KIND.internal,
    startMs: call.row.created_at + started_ms,
    endMs: call.row.created_at + started_ms + duration_ms,
    attributes: [['gateway.cache.status', status]],
    isError: false,
  }));
}

/** Requests to providers carry their number in the order in which they were made. */
function attemptSpans(call: Call, attempts: readonly ShownAttempt[], operation: string | null, said: Said): Span[] {
  const asked = attempts.filter(({ skipped }) => !skipped);
  return asked.map((attempt, at) => {
    const isLast = at === asked.length - 1;
    return attemptSpan(call, attempt, {
      number: at + 1,
      isLast,
      operation,
      said: isLast ? said : { ...said, answer: [], output: [] },
    });
  });
}

interface Asked {
  readonly number: number;
  readonly isLast: boolean;
  /** Null: not one of those that the conventions speak of. */
  readonly operation: string | null;
  readonly said: Said;
}

function attemptSpan(call: Call, attempt: ShownAttempt, { number, isLast, operation, said }: Asked): Span {
  const { row, dimensions, path } = call;
  const { provider, model, host, status, error_code, reason } = attempt;
  const attributes: Pairs = [];
  if (operation) attributes.push(['gen_ai.operation.name', operation]);
  else attributes.push(['http.request.method', row.method]);
  if (provider) attributes.push(['gen_ai.provider.name', providerName(provider)]);
  if (model) attributes.push(['gen_ai.request.model', model]);
  if (row.session_id) attributes.push(['gen_ai.conversation.id', row.session_id]);
  if (host) addHost(attributes, host);
  if (status !== null) attributes.push(['http.response.status_code', status]);
  attributes.push(['gateway.target', attempt.target]);
  if (attempt.virtual_key) attributes.push(['gateway.virtual_key', attempt.virtual_key]);
  if (reason) attributes.push(['gateway.attempt.reason', reason]);
  if (attempt.connect_ms !== null) attributes.push(['gateway.connect_ms', new Double(attempt.connect_ms)]);
  if (number > 1) attributes.push(['http.request.resend_count', number - 1]);
  const hasFailed = error_code !== null || (status !== null && status >= 400);
  if (hasFailed) attributes.push(['error.type', error_code ?? String(status)]);
  if (operation) {
    if (row.is_stream) attributes.push(['gen_ai.request.stream', true]);
    const api = provider === 'openai' || provider === 'azure-openai' ? openaiApi(path) : null;
    if (api) attributes.push(['openai.api.type', api]);
    attributes.push(...said.request);
    addAnswer(attributes, call, attempt, isLast);
    attributes.push(...said.answer, ...said.input, ...said.output);
  }
  attributes.push(...dimensions);
  return {
    ...below(call, BELOW.attempt + number),
    name: operation ? `${operation} ${model ?? ''}`.trimEnd() : `${row.method} ${host ?? provider ?? path}`,
    kind: KIND.client,
    startMs: row.created_at + attempt.started_ms,
    endMs: row.created_at + attempt.ended_ms,
    attributes,
    isError: hasFailed,
    message: error_code,
  };
}

function addHost(attributes: Pairs, host: string): void {
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  attributes.push(['server.address', port ? host.slice(0, -port.length - 1) : host]);
  if (port) attributes.push(['server.port', Number(port)]);
}

/** Usage stands at requests to models and nowhere else: backends add up what they find. */
function addAnswer(attributes: Pairs, call: Call, attempt: ShownAttempt, isLast: boolean): void {
  const { row, trace, options } = call;
  const add = (name: string, value: number | null) => {
    if (value !== null) attributes.push([name, value]);
  };
  add('gen_ai.usage.input_tokens', attempt.input_tokens);
  add('gen_ai.usage.output_tokens', attempt.output_tokens);
  if (attempt.cost !== null) attributes.push(['gen_ai.usage.cost', new Double(attempt.cost)]);
  if (!isLast) return;
  const [answeredBy, written] = [trace[9], trace[10]];
  if (answeredBy) attributes.push(['gen_ai.response.model', answeredBy]);
  add('gen_ai.usage.cache_read.input_tokens', row.cached_tokens);
  if (options.semconv !== 'latest') add('gen_ai.usage.cache_creation.input_tokens', written);
  if (options.semconv !== '1.41') add('gen_ai.usage.cache_write.input_tokens', written);
  add('gen_ai.usage.reasoning.output_tokens', row.reasoning_tokens);
  if (row.is_stream && row.first_byte_ms !== null && row.first_byte_ms >= attempt.started_ms)
    attributes.push([
      'gen_ai.response.time_to_first_chunk',
      new Double((row.first_byte_ms - attempt.started_ms) / 1_000),
    ]);
}
