import type { Encoded, Quirks } from '../dialect.ts';
import type { Effort, ModelRequest, Tool } from '../ir.ts';
import { objectIn, present } from '../json.ts';
import { Losses } from '../losses.ts';
import { encodeTurns } from './encode-messages.ts';
import { cacheMarks } from './encode-parts.ts';
import type { ChatRequest, ResponseFormat, ToolChoice, Tool as WireTool } from './wire.ts';

export function encodeRequest(request: ModelRequest, quirks: Quirks = {}): Encoded<ChatRequest> {
  const losses = new Losses('openai-chat', request.origin);
  const { maxTokensField = 'max_completion_tokens' } = quirks;
  const ext = losses.requestExt(request.ext);
  if (request.topK !== undefined) losses.hint('topK');
  const tools = request.tools?.flatMap((tool, index) => encodeTool(tool, `tools[${index}]`, quirks, losses));
  const body = present<ChatRequest>({
    ...ext,
    model: request.model,
    messages: encodeTurns(request.turns, quirks, losses),
    tools: tools && tools.length > 0 ? tools : undefined,
    tool_choice: encodeToolChoice(request),
    parallel_tool_calls: request.parallelToolCalls,
    [maxTokensField]: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: request.stop && [...request.stop],
    n: request.n,
    seed: request.seed,
    logprobs: request.logprobs ? true : undefined,
    top_logprobs: request.logprobs?.top,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    logit_bias: request.logitBias && { ...request.logitBias },
    response_format: encodeFormat(request, losses),
    reasoning_effort: encodeEffort(request, losses),
    service_tier: encodeTier(request.serviceTier),
    user: request.user,
    metadata: request.metadata && { ...request.metadata },
    stream: request.stream,
    stream_options: encodeStreamOptions(request, ext?.stream_options, quirks),
  });
  return losses.with(body);
}

const encodeTier = (tier: string | undefined) =>
  (tier === 'standard' ? 'default' : tier) as ChatRequest['service_tier'];

function encodeStreamOptions(
  { includeUsage }: ModelRequest,
  kept: unknown,
  { refusesStreamOptions }: Quirks,
): ChatRequest['stream_options'] {
  const asked = refusesStreamOptions ? undefined : includeUsage;
  const options = { ...objectIn(kept), ...present({ include_usage: asked }) };
  return Object.keys(options).length > 0 ? options : undefined;
}

function encodeTool(tool: Tool, path: string, quirks: Quirks, losses: Losses): WireTool[] {
  if (tool.type === 'opaque') {
    if (tool.dialect === 'openai-chat') return [tool.raw as unknown as WireTool];
    losses.node(tool, path, `only ${tool.dialect} has this tool`);
    return [];
  }
  const { function: inner, ...ext } = losses.ext(tool, path) ?? {};
  if (tool.type === 'custom') {
    const { name, description, format } = tool;
    return [{ ...ext, type: 'custom', custom: present({ name, description, format }) } as WireTool];
  }
  const { name, description, parameters, strict } = tool;
  const definition = present({ ...objectIn(inner), name, description, parameters, strict });
  return [{ ...ext, type: 'function', function: definition, ...cacheMarks(tool, path, quirks, losses) } as WireTool];
}

function encodeToolChoice({ toolChoice, tools }: ModelRequest): ToolChoice | undefined {
  if (!toolChoice) return undefined;
  const named = (name: string) => {
    const isCustom = tools?.some((tool) => tool.type === 'custom' && tool.name === name) ?? false;
    return isCustom
      ? ({ type: 'custom', custom: { name } } as const)
      : ({ type: 'function', function: { name } } as const);
  };
  if (toolChoice.type === 'tool') return named(toolChoice.name);
  if (toolChoice.type !== 'allowed') return toolChoice.type;
  return { type: 'allowed_tools', allowed_tools: { mode: toolChoice.mode, tools: toolChoice.names.map(named) } };
}

/** A schema needs a name here. */
const SCHEMA_NAME = 'answer';

function encodeFormat({ responseFormat: format }: ModelRequest, losses: Losses): ResponseFormat | undefined {
  if (!format || format.type === 'text') return format;
  if (format.type === 'json') return { type: 'json_object' };
  const { name = SCHEMA_NAME, description, schema, strict } = format;
  if (format.name === undefined)
    losses.changeSetting('responseFormat', `the schema is called "${SCHEMA_NAME}", because it needs a name`);
  return { type: 'json_schema', json_schema: present({ name, description, schema: { ...schema }, strict }) };
}

/** A budget says how much thinking is wanted; these are the limits between the efforts. */
const effortOf = (budgetTokens: number): Effort =>
  budgetTokens < 4_096 ? 'low' : budgetTokens < 16_384 ? 'medium' : 'high';

function encodeEffort({ reasoning }: ModelRequest, losses: Losses): ChatRequest['reasoning_effort'] {
  if (!reasoning) return undefined;
  const { effort, mode, budgetTokens, display } = reasoning;
  if (display !== undefined) losses.hint('reasoning.display');
  if (mode === 'budget' && budgetTokens !== undefined && effort === undefined) {
    const chosen = effortOf(budgetTokens);
    losses.changeSetting('reasoning.budgetTokens', `sent as the effort ${chosen}`);
    return chosen;
  }
  if (mode !== undefined) losses.hint('reasoning.mode', 'openai-chat knows only efforts');
  if (budgetTokens !== undefined) losses.hint('reasoning.budgetTokens', 'openai-chat knows only efforts');
  return effort;
}
