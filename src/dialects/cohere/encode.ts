import { borrow } from '../borrowed.ts';
import type { Encoded } from '../dialect.ts';
import type { ModelRequest, Tool } from '../ir.ts';
import { present } from '../json.ts';
import { Losses } from '../losses.ts';
import { encodeTurns } from './encode-messages.ts';
import { BORROWED, type ChatRequest, type Tool as WireTool } from './wire.ts';

export function encodeRequest(given: ModelRequest): Encoded<ChatRequest> {
  const { members, ext: others } = borrow(given, BORROWED);
  const request = { ...given, ext: others };
  const losses = new Losses('cohere', request.origin);
  const ext = losses.requestExt(request.ext);
  noteUnsayable(request, losses);
  const { tools, strict_tools } = encodeTools(request, losses);
  if (request.toolChoice && !tools) losses.hint('toolChoice', 'no tools are sent');
  const body = present<ChatRequest>({
    ...members,
    ...ext,
    model: request.model,
    messages: encodeTurns(request, losses),
    tools,
    ...(strict_tools && { strict_tools }),
    tool_choice: tools ? encodeToolChoice(request) : undefined,
    response_format: encodeFormat(request, losses),
    thinking: encodeThinking(request, losses),
    max_tokens: request.maxOutputTokens,
    stop_sequences: request.stop && [...request.stop],
    temperature: request.temperature,
    p: encodeTopP(request, losses),
    k: request.topK,
    seed: request.seed,
    frequency_penalty: penalty(request, 'frequencyPenalty', losses),
    presence_penalty: penalty(request, 'presencePenalty', losses),
    logprobs: request.logprobs && !request.logprobs.top ? true : undefined,
    stream: request.stream,
  });
  return losses.with(body);
}

function noteUnsayable(request: ModelRequest, losses: Losses) {
  const { n, logprobs, logitBias, parallelToolCalls, serviceTier, user, metadata } = request;
  if (n !== undefined && n !== 1) losses.need('n', 'cohere gives one answer per call');
  if (logprobs?.top) losses.need('logprobs', 'cohere tells them only for the tokens it chose');
  if (logitBias && Object.keys(logitBias).length > 0) losses.need('logitBias', 'cohere has no such setting');
  if (parallelToolCalls !== undefined)
    losses.hint('parallelToolCalls', 'cohere decides by itself how many tools it calls at once');
  if (serviceTier !== undefined) losses.hint('serviceTier');
  if (user !== undefined) losses.hint('user');
  if (metadata) losses.hint('metadata', 'cohere stores nothing with a call');
}

/** The vendor's range; 1, which others take for no limit at all, is refused there. */
const LEAST_P = 0.01;
const MOST_P = 0.99;

function encodeTopP({ topP }: ModelRequest, losses: Losses): number | undefined {
  if (topP === undefined || (topP >= LEAST_P && topP <= MOST_P)) return topP;
  const nearest = topP < LEAST_P ? LEAST_P : MOST_P;
  losses.changeSetting('topP', `sent as ${nearest}, because cohere takes ${LEAST_P} to ${MOST_P}`);
  return nearest;
}

function penalty(request: ModelRequest, name: 'frequencyPenalty' | 'presencePenalty', losses: Losses) {
  const value = request[name];
  if (value === undefined || (value >= 0 && value <= 1)) return value;
  losses.hint(name, 'cohere takes 0 to 1');
  return undefined;
}

/** Some tools cannot be chosen among others, so only these are sent; strictness is one for all. */
function encodeTools(
  { tools = [], toolChoice }: ModelRequest,
  losses: Losses,
): { readonly tools?: WireTool[]; readonly strict_tools?: true } {
  const names =
    toolChoice?.type === 'allowed' ? toolChoice.names : toolChoice?.type === 'tool' ? [toolChoice.name] : null;
  const functions = tools.filter((tool) => tool.type === 'function');
  const isStrict = functions.length > 0 && functions.every((tool) => tool.strict === true);
  if (names && tools.length > 0) losses.changeSetting('toolChoice', 'only the tools that may be called are sent');
  const made = tools.flatMap((tool, index) => {
    if (names && 'name' in tool && !names.includes(tool.name)) return [];
    const path = `tools[${index}]`;
    if (tool.type === 'function' && tool.strict !== undefined && !isStrict)
      losses.member(tool, path, 'strict', 'cohere has it only for all tools together');
    return encodeTool(tool, path, losses);
  });
  return { ...(made.length > 0 && { tools: made }), ...(isStrict && made.length > 0 && { strict_tools: true }) };
}

function encodeTool(tool: Tool, path: string, losses: Losses): WireTool[] {
  if (tool.type === 'opaque' && tool.dialect === 'cohere') return [tool.raw as unknown as WireTool];
  if (tool.type !== 'function') {
    const why = tool.type === 'custom' ? 'cohere has no custom tools' : `only ${tool.dialect} has this tool`;
    losses.node(tool, path, why);
    return [];
  }
  if (tool.cache) losses.member(tool, path, 'cache', 'cohere decides by itself what it caches');
  const { name, description, parameters = { type: 'object', properties: {} } } = tool;
  const definition = present({ name, description, parameters: { ...parameters } });
  return [{ ...losses.ext(tool, path), type: 'function', function: definition }];
}

/** Left out, the model chooses. */
function encodeToolChoice({ toolChoice }: ModelRequest): ChatRequest['tool_choice'] {
  if (toolChoice?.type === 'none') return 'NONE';
  if (toolChoice?.type === 'required' || toolChoice?.type === 'tool') return 'REQUIRED';
  return toolChoice?.type === 'allowed' && toolChoice.mode === 'required' ? 'REQUIRED' : undefined;
}

function encodeFormat({ responseFormat: format }: ModelRequest, losses: Losses): ChatRequest['response_format'] {
  if (!format || format.type === 'text') return format;
  if (format.type === 'json') return { type: 'json_object' };
  if (format.name !== undefined) losses.hint('responseFormat.name', 'schemas have no name at cohere');
  if (format.description !== undefined)
    losses.hint('responseFormat.description', 'schemas are not described at cohere');
  if (format.strict !== undefined) losses.hint('responseFormat.strict', 'cohere always keeps to the schema');
  return { type: 'json_object', json_schema: { ...format.schema } };
}

function encodeThinking({ reasoning }: ModelRequest, losses: Losses): ChatRequest['thinking'] {
  if (!reasoning) return undefined;
  const { effort, mode, budgetTokens, display } = reasoning;
  if (display !== undefined) losses.hint('reasoning.display');
  if (mode !== undefined && effort !== undefined) losses.hint('reasoning.effort', 'cohere knows only budgets');
  if (mode === 'off') return { type: 'disabled' };
  if (mode === 'budget') return { type: 'enabled', ...present({ token_budget: budgetTokens }) };
  if (mode === 'adaptive') {
    losses.changeSetting('reasoning.mode', 'sent as enabled thinking');
    return { type: 'enabled' };
  }
  if (effort === undefined) return undefined;
  const type = effort === 'none' ? 'disabled' : 'enabled';
  losses.changeSetting('reasoning.effort', `sent as ${type} thinking`);
  return { type };
}
