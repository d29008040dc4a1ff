import type { Encoded, Quirks } from '../dialect.ts';
import type { ModelRequest, Tool } from '../ir.ts';
import { present } from '../json.ts';
import { Losses } from '../losses.ts';
import { cacheControl } from './encode-blocks.ts';
import { encodeTurns } from './encode-messages.ts';
import { encodeReasoning } from './encode-reasoning.ts';
import { outputCap } from './models.ts';
import type { MessagesRequest, OutputConfig, Thinking, ToolChoice, Tool as WireTool } from './wire.ts';

export function encodeRequest(request: ModelRequest, quirks: Quirks = {}): Encoded<MessagesRequest> {
  const losses = new Losses('anthropic', request.origin);
  const ext = losses.requestExt(request.ext);
  const { system, messages } = encodeTurns(request, losses);
  const max_tokens = request.maxOutputTokens ?? demandedLimit(request, quirks, losses);
  const { thinking, effort } = encodeReasoning(request, max_tokens, losses);
  noteUnsayable(request, losses);
  const body = present<MessagesRequest>({
    ...ext,
    model: request.model,
    max_tokens,
    system: system.length > 0 ? system : undefined,
    messages,
    tools: encodeTools(request, losses),
    tool_choice: encodeToolChoice(request, losses),
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    stop_sequences: request.stop && [...request.stop],
    thinking: thinking ?? (ext?.thinking as Thinking | undefined),
    output_config: merged(ext?.output_config, present({ effort, format: encodeFormat(request, losses) })),
    service_tier: encodeTier(request, losses),
    metadata: merged(ext?.metadata, present({ user_id: request.user })),
    stream: request.stream,
  });
  return losses.with(body);
}

function merged<Value extends object>(kept: unknown, made: Value): Value | undefined {
  const value = { ...(kept as object | undefined), ...made };
  return Object.keys(value).length > 0 ? value : undefined;
}

/** Anthropic demands a limit. One below the model's own would cut answers although the client asked for no limit. */
function demandedLimit(request: ModelRequest, quirks: Quirks, losses: Losses): number {
  const limit = quirks.maxOutputTokens ?? outputCap(request.model);
  losses.changeSetting(
    'maxOutputTokens',
    `set to ${limit}, the most that ${request.model} gives, because anthropic demands it`,
  );
  return limit;
}

function noteUnsayable(request: ModelRequest, losses: Losses) {
  const { n, logprobs, seed, frequencyPenalty, presencePenalty, logitBias, metadata } = request;
  if (n !== undefined && n !== 1) losses.need('n', 'anthropic gives one answer per call');
  if (logprobs) losses.need('logprobs', 'anthropic does not tell them');
  if (logitBias && Object.keys(logitBias).length > 0) losses.need('logitBias', 'anthropic has no such setting');
  if (seed !== undefined) losses.hint('seed');
  if (frequencyPenalty) losses.hint('frequencyPenalty');
  if (presencePenalty) losses.hint('presencePenalty');
  if (metadata) losses.hint('metadata', 'anthropic stores nothing with a call');
}

function encodeTools({ tools, toolChoice }: ModelRequest, losses: Losses): WireTool[] | undefined {
  const allowed = toolChoice?.type === 'allowed' ? new Set(toolChoice.names) : null;
  const made = tools?.flatMap((tool, index) => {
    if (allowed && 'name' in tool && !allowed.has(tool.name)) return [];
    return encodeTool(tool, `tools[${index}]`, losses);
  });
  if (allowed) losses.changeSetting('toolChoice', 'only the allowed tools are sent');
  return made && made.length > 0 ? made : undefined;
}

function encodeTool(tool: Tool, path: string, losses: Losses): WireTool[] {
  if (tool.type === 'opaque' && tool.dialect === 'anthropic') return [tool.raw as unknown as WireTool];
  if (tool.type !== 'function') {
    losses.node(
      tool,
      path,
      tool.type === 'custom' ? 'anthropic has no custom tools' : `only ${tool.dialect} has this tool`,
    );
    return [];
  }
  const made = present<WireTool>({
    name: tool.name,
    description: tool.description,
    input_schema: (tool.parameters ?? { type: 'object', properties: {} }) as WireTool['input_schema'],
    strict: tool.strict,
    cache_control: cacheControl(tool.cache),
  });
  return [{ ...losses.ext(tool, path), ...made }];
}

function encodeToolChoice(request: ModelRequest, losses: Losses): ToolChoice | undefined {
  const { toolChoice, parallelToolCalls } = request;
  const isOneAtMost = parallelToolCalls === undefined ? {} : { disable_parallel_tool_use: !parallelToolCalls };
  switch (toolChoice?.type) {
    case undefined:
      return parallelToolCalls === false ? { type: 'auto', ...isOneAtMost } : undefined;
    case 'none':
      if (parallelToolCalls !== undefined) losses.hint('parallelToolCalls', 'no tool may be called anyway');
      return { type: 'none' };
    case 'tool':
      return { type: 'tool', name: toolChoice.name, ...isOneAtMost };
    case 'allowed':
      return { type: toolChoice.mode === 'required' ? 'any' : 'auto', ...isOneAtMost };
    case 'required':
      return { type: 'any', ...isOneAtMost };
    default:
      return { type: 'auto', ...isOneAtMost };
  }
}

function encodeFormat({ responseFormat: format }: ModelRequest, losses: Losses): OutputConfig['format'] {
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'json') {
    losses.need('responseFormat', 'anthropic gives JSON only by a schema: send json_schema');
    return undefined;
  }
  if (format.name !== undefined) losses.hint('responseFormat.name', 'schemas have no name at anthropic');
  if (format.description !== undefined)
    losses.hint('responseFormat.description', 'schemas are not described at anthropic');
  if (format.strict === false) losses.hint('responseFormat.strict', 'anthropic always keeps to the schema');
  return { type: 'json_schema', schema: { ...format.schema } };
}

function encodeTier({ serviceTier }: ModelRequest, losses: Losses): MessagesRequest['service_tier'] {
  if (serviceTier === undefined || serviceTier === 'auto') return serviceTier;
  if (serviceTier === 'standard') return 'standard_only';
  losses.hint('serviceTier', `anthropic has no tier ${serviceTier}`);
  return undefined;
}
