import type { LogRow } from '../log-columns.ts';
import { type TimedAttempt, timesOf } from '../shown-attempts.ts';
import type { Attributes, AttributeValue } from './encode.ts';
import { Instrument, SECOND_BOUNDS, TOKEN_BOUNDS } from './instruments.ts';
import { mcpFacts } from './mcp.ts';
import { operationOf, providerName, type Semconv } from './names.ts';
import type { PostedTrace } from './record.ts';
import type { Span } from './span.ts';

const seconds = (name: string, description: string) =>
  new Instrument({ name, unit: 's', description, bounds: SECOND_BOUNDS });
const tokens = (name: string, description: string) =>
  new Instrument({ name, unit: '{token}', description, bounds: TOKEN_BOUNDS });
const sum = (name: string, unit: string, description: string) =>
  new Instrument({ name, unit, description, bounds: null });

/** The names of 1.41. */
const older = () => ({
  duration: seconds('gen_ai.client.operation.duration', 'Duration of requests to models.'),
  firstChunk: seconds('gen_ai.client.operation.time_to_first_chunk', 'Time to the first piece of a stream.'),
  tokens: tokens('gen_ai.client.token.usage', 'Tokens of one request.'),
});

/** Those that came after them. */
const newer = () => ({
  duration: seconds('gen_ai.client.inference.duration', 'Duration of requests to models.'),
  firstChunk: seconds('gen_ai.client.inference.time_to_first_chunk', 'Time to the first piece of a stream.'),
  inputs: tokens('gen_ai.client.inference.operation.input_tokens', 'Tokens of the input of one request.'),
  outputs: tokens('gen_ai.client.inference.operation.output_tokens', 'Tokens of the output of one request.'),
  usage: {
    input_tokens: sum('gen_ai.client.inference.usage.input_tokens', '{token}', 'Tokens of inputs.'),
    output_tokens: sum('gen_ai.client.inference.usage.output_tokens', '{token}', 'Tokens of outputs.'),
    cached_tokens: sum('gen_ai.client.inference.usage.cache_read.input_tokens', '{token}', 'Tokens read from caches.'),
    reasoning_tokens: sum('gen_ai.client.inference.usage.reasoning.output_tokens', '{token}', 'Tokens of thoughts.'),
  },
  embedding: seconds('gen_ai.client.embeddings.duration', 'Duration of requests for embeddings.'),
  embedded: tokens('gen_ai.client.embeddings.operation.input_tokens', 'Tokens of the input of one request.'),
  agents: seconds('gen_ai.invoke_agent.duration', 'Duration of runs.'),
  tools: seconds('gen_ai.execute_tool.duration', 'Duration of tools that the gateway carries out.'),
});

type Newer = ReturnType<typeof newer>;

/** What requests to models and MCP servers amount to, by the names of the conventions. */
export class GenAiMetrics {
  readonly #older: ReturnType<typeof older> | null;
  readonly #newer: Newer | null;
  readonly #cost = sum('gateway.usage.cost', '{USD}', 'Cost of requests to models.');
  readonly #called = seconds('mcp.server.operation.duration', 'Duration of MCP calls of clients.');
  readonly #calling = seconds('mcp.client.operation.duration', 'Duration of requests to MCP servers.');

  constructor(semconv: Semconv) {
    this.#older = semconv === 'latest' ? null : older();
    this.#newer = semconv === '1.41' ? null : newer();
  }

  get instruments(): readonly Instrument[] {
    const { usage, ...rest } = this.#newer ?? { usage: {} };
    return [
      ...Object.values(this.#older ?? {}),
      ...(Object.values(rest) as Instrument[]),
      ...Object.values(usage),
      ...[this.#cost, this.#called, this.#calling],
    ];
  }

  /** An entry, once: one that is told of again has been counted. */
  record(row: LogRow, trace: PostedTrace): void {
    if (trace[12] !== undefined) return;
    const asked = timesOf(row).attempts.filter(({ skipped }) => !skipped);
    if (row.provider === 'mcp') {
      this.#recordMcp(row, asked);
      return;
    }
    const mark = row.path.indexOf('?');
    const operation = operationOf(mark < 0 ? row.path : row.path.slice(0, mark));
    if (operation === null) return;
    for (const [at, attempt] of asked.entries())
      this.#recordAttempt(row, attempt, { operation, isLast: at === asked.length - 1, answeredBy: trace[9] });
  }

  /** A span that no entry tells of: a run or a tool. */
  recordSpan({ attributes, startMs, endMs }: Span): void {
    if (!this.#newer) return;
    const said = new Map(attributes);
    const operation = said.get('gen_ai.operation.name');
    const kept = attributes.filter(([name]) =>
      /^(?:gen_ai\.(?:operation\.name|agent\.id|tool\.name|request\.model)|error\.type)$/.test(name),
    );
    const duration = (endMs - startMs) / 1_000;
    if (operation === 'invoke_agent') this.#newer.agents.record(duration, kept);
    if (operation === 'execute_tool') this.#newer.tools.record(duration, kept);
  }

  #recordMcp(row: LogRow, asked: readonly TimedAttempt[]): void {
    const { attributes } = mcpFacts(row);
    this.#called.record(row.duration_ms / 1_000, attributes);
    for (const { started_ms, ended_ms } of asked) this.#calling.record((ended_ms - started_ms) / 1_000, attributes);
  }

  #recordAttempt(
    row: LogRow,
    attempt: TimedAttempt,
    { operation, isLast, answeredBy }: { operation: string; isLast: boolean; answeredBy: string | null },
  ): void {
    const { input_tokens, output_tokens, status, error_code, cost } = attempt;
    const attributes = attributesOf(attempt, operation, isLast ? answeredBy : null);
    const error = error_code ?? (status !== null && status >= 400 ? String(status) : null);
    const withError: Attributes = error ? [...attributes, ['error.type', error]] : attributes;
    const duration = (attempt.ended_ms - attempt.started_ms) / 1_000;
    const first =
      isLast && row.is_stream && row.first_byte_ms !== null ? (row.first_byte_ms - attempt.started_ms) / 1_000 : null;
    if (cost) this.#cost.record(cost, attributes);
    const before = this.#older;
    if (before) {
      before.duration.record(duration, withError);
      if (first !== null && first >= 0) before.firstChunk.record(first, attributes);
      if (input_tokens !== null) before.tokens.record(input_tokens, [...attributes, ['gen_ai.token.type', 'input']]);
      if (output_tokens !== null) before.tokens.record(output_tokens, [...attributes, ['gen_ai.token.type', 'output']]);
    }
    const after = this.#newer;
    if (!after) return;
    const isEmbedding = operation === 'embeddings';
    (isEmbedding ? after.embedding : after.duration).record(duration, withError);
    if (first !== null && first >= 0) after.firstChunk.record(first, attributes);
    if (input_tokens !== null) (isEmbedding ? after.embedded : after.inputs).record(input_tokens, attributes);
    if (output_tokens !== null && !isEmbedding) after.outputs.record(output_tokens, attributes);
    countUsage(after.usage, isLast ? row : { ...NO_USAGE, input_tokens, output_tokens }, attributes);
  }
}

const NO_USAGE = { cached_tokens: null, reasoning_tokens: null };

function countUsage(
  usage: Newer['usage'],
  counted: Pick<LogRow, 'input_tokens' | 'output_tokens' | 'cached_tokens' | 'reasoning_tokens'>,
  attributes: Attributes,
): void {
  for (const name of ['input_tokens', 'output_tokens', 'cached_tokens', 'reasoning_tokens'] as const)
    if (counted[name]) usage[name].record(counted[name], attributes);
}

function attributesOf(
  { provider, model, host }: TimedAttempt,
  operation: string,
  answeredBy: string | null,
): Attributes {
  const pairs: (readonly [string, AttributeValue])[] = [['gen_ai.operation.name', operation]];
  if (provider) pairs.push(['gen_ai.provider.name', providerName(provider)]);
  if (model) pairs.push(['gen_ai.request.model', model]);
  if (answeredBy) pairs.push(['gen_ai.response.model', answeredBy]);
  const port = host ? /:(\d{1,5})$/.exec(host)?.[1] : undefined;
  if (host) pairs.push(['server.address', port ? host.slice(0, -port.length - 1) : host]);
  if (port) pairs.push(['server.port', Number(port)]);
  return pairs;
}
