import { Fields, fault } from '../fields.ts';
import {
  EFFORTS,
  type JsonObject,
  type ModelRequest,
  type Part,
  type Reasoning,
  type ResponseFormat,
  type Role,
  type Settings,
  type Tool,
  type Turn,
} from '../ir.ts';
import { present } from '../json.ts';
import { cacheMark, contentParts, extOf } from './decode-blocks.ts';

const NAMES = {
  maxOutputTokens: 'max_tokens',
  topP: 'top_p',
  topK: 'top_k',
  stop: 'stop_sequences',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
  responseFormat: 'output_config.format',
  reasoning: 'thinking',
  'reasoning.mode': 'thinking.type',
  'reasoning.budgetTokens': 'thinking.budget_tokens',
  'reasoning.display': 'thinking.display',
  'reasoning.effort': 'output_config.effort',
  serviceTier: 'service_tier',
  user: 'metadata.user_id',
  cache: 'cache_control',
  'cache.ttl': 'cache_control.ttl',
  isError: 'is_error',
  mime: 'source.media_type',
};

/** Members that no other dialect has, and without which the answer would be another one. */
const ESSENTIAL = ['container', 'mcp_servers'];

export function decodeRequest(body: unknown): ModelRequest {
  const fields = new Fields(body, '');
  const model = fields.string('model');
  const maxOutputTokens = fields.integer('max_tokens') ?? fault('max_tokens', 'a whole number', undefined);
  const system = systemTurn(fields);
  const turns = fields.each('messages', messageTurns) ?? fault('messages', 'a list of messages', undefined);
  const isStream = fields.boolean('stream');
  const { settings, leftOver } = readSettings(fields);
  const rest = { ...fields.rest(), ...leftOver };
  return present<ModelRequest>({
    model,
    turns: joined([...system, ...turns.flat()]),
    maxOutputTokens,
    ...settings,
    stream: isStream,
    // Streams of this dialect always tell the usage.
    includeUsage: isStream ? true : undefined,
    ext: Object.keys(rest).length > 0 ? { anthropic: rest } : undefined,
    origin: { dialect: 'anthropic', names: NAMES, essential: ESSENTIAL },
  });
}

function systemTurn(fields: Fields): Turn[] {
  const parts = contentParts(fields, 'system');
  return parts.length > 0 ? [{ role: 'system', parts, at: 'system' }] : [];
}

/** Results of tools come in user messages here; they become turns of their own. */
function messageTurns(fields: Fields): Turn[] {
  const role =
    fields.oneOf('role', ['user', 'assistant', 'system']) ??
    fault(fields.pathOf('role'), 'user or assistant', undefined);
  if (!fields.has('content')) fault(fields.pathOf('content'), 'a string or a list of blocks', undefined);
  const parts = contentParts(fields, 'content');
  const ext = extOf(fields);
  const turns: { role: Role; parts: Part[] }[] = [];
  for (const part of parts) {
    const turnRole = part.type === 'tool-result' ? 'tool' : role;
    const last = turns.at(-1);
    if (last?.role === turnRole) last.parts.push(part);
    else turns.push({ role: turnRole, parts: [part] });
  }
  if (turns.length === 0) turns.push({ role, parts: [] });
  return turns.map((turn, index) => ({ ...turn, at: fields.path, ...(index === 0 && ext && { ext }) }));
}

/** Results in a row are one turn, however many messages they came in. */
function joined(turns: readonly Turn[]): Turn[] {
  const result: Turn[] = [];
  for (const turn of turns) {
    const last = result.at(-1);
    if (last?.role === 'tool' && turn.role === 'tool')
      result[result.length - 1] = { ...last, parts: [...last.parts, ...turn.parts] };
    else result.push(turn);
  }
  return result;
}

function readSettings(fields: Fields): { settings: Settings; leftOver: JsonObject } {
  const thinking = readThinking(fields);
  const output = fields.fields('output_config');
  const effort = output?.oneOf('effort', EFFORTS);
  const format = output && readFormat(output);
  const metadata = fields.fields('metadata');
  const user = metadata?.optionalString('user_id');
  const tier = fields.optionalString('service_tier');
  const reasoning = effort ? { ...thinking.reasoning, effort } : thinking.reasoning;
  const settings: Settings = {
    tools: fields.eachOfSome('tools', readTool),
    ...readToolChoice(fields),
    temperature: fields.number('temperature'),
    topP: fields.number('top_p'),
    topK: fields.integer('top_k'),
    stop: fields.strings('stop_sequences'),
    responseFormat: format,
    reasoning,
    serviceTier: tier === 'standard_only' ? 'standard' : tier,
    user,
  };
  const leftOver = present({ output_config: output?.rest(), metadata: metadata?.rest(), thinking: thinking.unknown });
  return { settings, leftOver };
}

/** Kinds of thinking that only this dialect has are left as they are. */
function readThinking(fields: Fields): { reasoning?: Reasoning; unknown?: JsonObject } {
  const thinking = fields.fields('thinking');
  if (!thinking) return {};
  const display = thinking.optionalString('display');
  switch (thinking.string('type')) {
    case 'disabled':
      return { reasoning: { mode: 'off' } };
    case 'adaptive':
      return { reasoning: present<Reasoning>({ mode: 'adaptive', display }) };
    case 'enabled': {
      const path = thinking.pathOf('budget_tokens');
      const budgetTokens = thinking.integer('budget_tokens') ?? fault(path, 'a whole number', undefined);
      return { reasoning: present<Reasoning>({ mode: 'budget', budgetTokens, display }) };
    }
    default:
      return { unknown: thinking.raw() };
  }
}

function readFormat(output: Fields): ResponseFormat | undefined {
  const format = output.fields('format');
  if (!format) return undefined;
  format.oneOf('type', ['json_schema']);
  const schema = format.json('schema') ?? fault(format.pathOf('schema'), 'a JSON schema', undefined);
  // Here an answer always fits the schema.
  return { type: 'schema', schema, strict: true };
}

function readTool(fields: Fields): Tool {
  const type = fields.optionalString('type') ?? 'custom';
  if (type !== 'custom') return { type: 'opaque', dialect: 'anthropic', raw: fields.raw(), at: fields.path };
  return present<Tool>({
    type: 'function',
    name: fields.string('name'),
    description: fields.optionalString('description'),
    parameters: fields.json('input_schema') ?? fault(fields.pathOf('input_schema'), 'a JSON schema', undefined),
    strict: fields.boolean('strict'),
    cache: cacheMark(fields),
    ext: extOf(fields),
    at: fields.path,
  });
}

function readToolChoice(fields: Fields): Pick<Settings, 'toolChoice' | 'parallelToolCalls'> {
  const choice = fields.fields('tool_choice');
  if (!choice) return {};
  const isOneAtMost = choice.boolean('disable_parallel_tool_use');
  const parallelToolCalls = isOneAtMost === undefined ? undefined : !isOneAtMost;
  const type =
    choice.oneOf('type', ['auto', 'any', 'tool', 'none']) ?? fault(choice.pathOf('type'), 'a string', undefined);
  if (type === 'tool') return { toolChoice: { type, name: choice.string('name') }, parallelToolCalls };
  return { toolChoice: { type: type === 'any' ? 'required' : type }, parallelToolCalls };
}
