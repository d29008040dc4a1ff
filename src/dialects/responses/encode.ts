import type { Encoded, Quirks } from '../dialect.ts';
import type { Effort, JsonObject, ModelRequest, Tool } from '../ir.ts';
import { objectIn, present } from '../json.ts';
import { Losses } from '../losses.ts';
import { encodeTurns } from './encode-items.ts';
import {
  type CustomFormat,
  ENCRYPTED_REASONING,
  LOGPROBS,
  type ReasoningSettings,
  type ResponsesRequest,
  type TextFormat,
  type ToolChoice,
  type Tool as WireTool,
} from './wire.ts';

export function encodeRequest(request: ModelRequest, quirks: Quirks = {}): Encoded<ResponsesRequest> {
  const losses = new Losses('responses', request.origin);
  const ext = losses.requestExt(request.ext);
  const { instructions, input } = encodeTurns(request.turns, quirks, losses);
  noteUnsayable(request, losses);
  const isStored = ext?.store === true;
  const body = present<ResponsesRequest>({
    ...ext,
    model: request.model,
    instructions,
    input,
    tools: encodeTools(request.tools, losses),
    tool_choice: encodeToolChoice(request) ?? (ext?.tool_choice as ToolChoice | undefined),
    parallel_tool_calls: request.parallelToolCalls,
    max_output_tokens: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_logprobs: request.logprobs?.top,
    text: merged(ext?.text, present({ format: encodeFormat(request, losses) })),
    reasoning: merged(encodeReasoning(request, losses), objectIn(ext?.reasoning)),
    include: encodeInclude(request, ext, isStored),
    service_tier: encodeTier(request.serviceTier),
    store: isStored,
    user: request.user,
    metadata: request.metadata && { ...request.metadata },
    stream: request.stream,
  });
  return losses.with(body);
}

function merged<Value extends object>(kept: unknown, made: Value): Value | undefined {
  const value = { ...objectIn(kept), ...made } as Value;
  return Object.keys(value).length > 0 ? value : undefined;
}

export const encodeTier = (tier: string | undefined) =>
  (tier === 'standard' ? 'default' : tier) as ResponsesRequest['service_tier'];

/** Nothing of a response that is not stored can be referred to, so thoughts have to come along to be sent back. */
function encodeInclude(
  request: ModelRequest,
  ext: JsonObject | undefined,
  isStored: boolean,
): ResponsesRequest['include'] {
  const include = Array.isArray(ext?.include) ? [...(ext.include as NonNullable<ResponsesRequest['include']>)] : [];
  if (!isStored && thinks(request)) include.push(ENCRYPTED_REASONING);
  if (request.logprobs) include.push(LOGPROBS);
  return include.length > 0 ? include : undefined;
}

/** Models that do not think refuse to be asked for their thoughts. */
const THINKING_MODELS = /^(o\d|gpt-[5-9]|codex)(?!.*-chat)/;

function thinks({ model, reasoning, turns }: ModelRequest): boolean {
  if (reasoning?.effort === 'none') return false;
  if (reasoning?.effort !== undefined || THINKING_MODELS.test(model.slice(model.lastIndexOf('/') + 1))) return true;
  return turns.some(({ parts }) => parts.some((part) => part.type === 'reasoning' && part.signedBy === 'responses'));
}

function noteUnsayable(request: ModelRequest, losses: Losses) {
  const { n, stop, logitBias, seed, topK, frequencyPenalty, presencePenalty } = request;
  if (n !== undefined && n !== 1) losses.need('n', 'responses gives one answer per call');
  if (stop && stop.length > 0) losses.need('stop', 'responses has no stop sequences');
  if (logitBias && Object.keys(logitBias).length > 0) losses.need('logitBias', 'responses has no such setting');
  if (seed !== undefined) losses.hint('seed');
  if (topK !== undefined) losses.hint('topK');
  if (frequencyPenalty) losses.hint('frequencyPenalty');
  if (presencePenalty) losses.hint('presencePenalty');
}

export function encodeTools(tools: ModelRequest['tools'], losses: Losses): WireTool[] | undefined {
  const made = tools?.flatMap((tool, index) => encodeTool(tool, `tools[${index}]`, losses));
  return made && made.length > 0 ? made : undefined;
}

function encodeTool(tool: Tool, path: string, losses: Losses): WireTool[] {
  if (tool.type === 'opaque') {
    if (tool.dialect === 'responses') return [tool.raw as unknown as WireTool];
    losses.node(tool, path, `only ${tool.dialect} has this tool`);
    return [];
  }
  const ext = losses.ext(tool, path);
  const { name, description } = tool;
  if (tool.type === 'custom')
    return [present<WireTool>({ ...ext, type: 'custom', name, description, format: customFormat(tool.format) })];
  if (tool.cache) losses.member(tool, path, 'cache', 'tools cannot be marked here');
  if (tool.strict === undefined) losses.change(tool, path, 'sent with strict false, because responses assumes true');
  const { parameters = null, strict = false } = tool;
  return [present<WireTool>({ ...ext, type: 'function', name, description, parameters, strict })];
}

/** A grammar is written flat here. */
function customFormat(format: JsonObject | undefined): CustomFormat | undefined {
  if (format?.type !== 'grammar') return format as CustomFormat | undefined;
  return { ...objectIn(format.grammar), type: 'grammar' } as CustomFormat;
}

export function encodeToolChoice({
  toolChoice,
  tools,
}: Pick<ModelRequest, 'toolChoice' | 'tools'>): ToolChoice | undefined {
  if (!toolChoice) return undefined;
  const named = (name: string) => {
    const isCustom = tools?.some((tool) => tool.type === 'custom' && tool.name === name) ?? false;
    return { type: isCustom ? 'custom' : 'function', name } as const;
  };
  if (toolChoice.type === 'tool') return named(toolChoice.name);
  if (toolChoice.type !== 'allowed') return toolChoice.type;
  return { type: 'allowed_tools', mode: toolChoice.mode, tools: toolChoice.names.map(named) };
}

/** A schema needs a name here. */
const SCHEMA_NAME = 'answer';

export function encodeFormat(
  { responseFormat: format }: Pick<ModelRequest, 'responseFormat'>,
  losses: Losses,
): TextFormat | undefined {
  if (!format || format.type === 'text') return format;
  if (format.type === 'json') return { type: 'json_object' };
  const { name = SCHEMA_NAME, description, schema, strict } = format;
  if (format.name === undefined)
    losses.changeSetting('responseFormat', `the schema is called "${SCHEMA_NAME}", because it needs a name`);
  return present<TextFormat>({ type: 'json_schema', name, description, schema: { ...schema }, strict });
}

/** A budget says how much thinking is wanted; these are the limits between the efforts. */
const effortOf = (budgetTokens: number): Effort =>
  budgetTokens < 4_096 ? 'low' : budgetTokens < 16_384 ? 'medium' : 'high';

export function encodeReasoning(
  { reasoning }: Pick<ModelRequest, 'reasoning'>,
  losses: Losses,
): ReasoningSettings | undefined {
  if (!reasoning) return undefined;
  const { effort, mode, budgetTokens, display } = reasoning;
  const summary = display === 'summarized' ? 'auto' : undefined;
  // Thoughts are not shown unless a summary is asked for.
  if (display !== undefined && display !== 'summarized' && display !== 'omitted') losses.hint('reasoning.display');
  if (mode === 'budget' && budgetTokens !== undefined && effort === undefined) {
    const chosen = effortOf(budgetTokens);
    losses.changeSetting('reasoning.budgetTokens', `sent as the effort ${chosen}`);
    return present<ReasoningSettings>({ effort: chosen, summary });
  }
  if (mode !== undefined) losses.hint('reasoning.mode', 'responses knows only efforts');
  if (budgetTokens !== undefined) losses.hint('reasoning.budgetTokens', 'responses knows only efforts');
  return present<ReasoningSettings>({ effort, summary });
}
