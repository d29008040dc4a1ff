import { fail } from '../../core/errors.ts';
import { Fields, fault } from '../fields.ts';
import {
  EFFORTS,
  type JsonObject,
  type ModelRequest,
  type Reasoning,
  type ResponseFormat,
  type Settings,
  type Tool,
  type ToolChoice,
} from '../ir.ts';
import { present } from '../json.ts';
import { decodeMessages } from './decode-messages.ts';
import { cacheMark, extOf } from './decode-parts.ts';

const NAMES = {
  maxOutputTokens: 'max_completion_tokens',
  topP: 'top_p',
  topK: 'top_k',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  logitBias: 'logit_bias',
  responseFormat: 'response_format',
  'responseFormat.name': 'response_format.json_schema.name',
  'responseFormat.description': 'response_format.json_schema.description',
  'responseFormat.strict': 'response_format.json_schema.strict',
  'reasoning.effort': 'reasoning_effort',
  'reasoning.mode': 'thinking.type',
  'reasoning.budgetTokens': 'thinking.budget_tokens',
  serviceTier: 'service_tier',
  cache: 'cache_control',
  'cache.ttl': 'cache_control.ttl',
  detail: 'image_url.detail',
  title: 'file.filename',
};
const OLD_NAMES = { ...NAMES, maxOutputTokens: 'max_tokens' };

/** Members that no other dialect has, and without which the answer would be another one. */
const ESSENTIAL = ['audio', 'modalities', 'moderation', 'web_search_options'];
const ANY_INTEGER = Number.MIN_SAFE_INTEGER;

export function decodeRequest(body: unknown): ModelRequest {
  const fields = new Fields(body, '');
  for (const name of ['functions', 'function_call'])
    if (fields.has(name)) fail('invalid_request', name, 'is translated for no provider: send tools and tool_choice');
  const model = fields.string('model');
  const turns = decodeMessages(fields);
  const usesOldLimit = fields.has('max_tokens') && !fields.has('max_completion_tokens');
  const options = fields.fields('stream_options');
  const settings: Settings = {
    tools: fields.eachOfSome('tools', readTool),
    toolChoice: readToolChoice(fields),
    parallelToolCalls: fields.boolean('parallel_tool_calls'),
    maxOutputTokens: readLimit(fields),
    temperature: fields.number('temperature'),
    topP: fields.number('top_p'),
    topK: fields.integer('top_k'),
    stop: readStop(fields),
    n: fields.integer('n', 1),
    seed: fields.integer('seed', ANY_INTEGER),
    logprobs: readLogprobs(fields),
    frequencyPenalty: fields.number('frequency_penalty'),
    presencePenalty: fields.number('presence_penalty'),
    logitBias: readMap(fields, 'logit_bias', 'number'),
    responseFormat: readFormat(fields),
    reasoning: readReasoning(fields),
    serviceTier: readTier(fields),
    user: fields.optionalString('user'),
    metadata: readMap(fields, 'metadata', 'string'),
    stream: fields.boolean('stream'),
    includeUsage: options?.boolean('include_usage'),
  };
  const isTextOnly = isOnlyText(fields.take('modalities'));
  const rest: JsonObject = present({
    ...fields.rest(),
    stream_options: options?.rest(),
    modalities: isTextOnly ? undefined : fields.take('modalities'),
  });
  return present<ModelRequest>({
    model,
    turns,
    ...settings,
    ext: Object.keys(rest).length > 0 ? { 'openai-chat': rest } : undefined,
    origin: { dialect: 'openai-chat', names: usesOldLimit ? OLD_NAMES : NAMES, essential: ESSENTIAL },
  });
}

/** Text is what every model gives. */
const isOnlyText = (modalities: unknown) =>
  Array.isArray(modalities) && modalities.length === 1 && modalities[0] === 'text';

function readLimit(fields: Fields): number | undefined {
  const limit = fields.integer('max_completion_tokens');
  const old = fields.integer('max_tokens');
  if (limit !== undefined && old !== undefined && limit !== old)
    fail('invalid_request', 'max_tokens', `contradicts max_completion_tokens, which is ${limit}: send one of them`);
  return limit ?? old;
}

function readStop(fields: Fields): string[] | undefined {
  const stop = fields.take('stop');
  return typeof stop === 'string' ? [stop] : fields.strings('stop');
}

function readLogprobs(fields: Fields): Settings['logprobs'] {
  const isWanted = fields.boolean('logprobs');
  const top = fields.integer('top_logprobs');
  if (isWanted) return top === undefined ? {} : { top };
  return top ? fault('top_logprobs', 'absent unless logprobs is true', top) : undefined;
}

function readMap<Type extends 'string' | 'number'>(fields: Fields, name: string, type: Type) {
  const map = fields.json(name);
  for (const key in map) if (typeof map[key] !== type) fault(`${name}.${key}`, `a ${type}`, map[key]);
  return map as Readonly<Record<string, Type extends 'string' ? string : number>> | undefined;
}

function readFormat(fields: Fields): ResponseFormat | undefined {
  const format = fields.fields('response_format');
  const type = format?.oneOf('type', ['text', 'json_object', 'json_schema']);
  if (!format || !type) return format && fault('response_format.type', 'text, json_object or json_schema', undefined);
  if (type === 'text') return { type };
  if (type === 'json_object') return { type: 'json' };
  const inner = format.inner('json_schema');
  return present<ResponseFormat>({
    type: 'schema',
    schema: inner.json('schema') ?? fault(inner.pathOf('schema'), 'a JSON schema', undefined),
    name: inner.string('name'),
    description: inner.optionalString('description'),
    strict: inner.boolean('strict'),
  });
}

/** `thinking` is Anthropic's word, which clients of gateways use in chat bodies too. */
function readReasoning(fields: Fields): Reasoning | undefined {
  const effort = fields.oneOf('reasoning_effort', EFFORTS);
  const thinking = fields.fields('thinking');
  if (!effort && !thinking) return undefined;
  const modes = { enabled: 'budget', disabled: 'off', adaptive: 'adaptive' } as const;
  const type = thinking?.oneOf('type', ['enabled', 'disabled', 'adaptive']);
  const mode = type && modes[type];
  const budgetTokens = thinking?.integer('budget_tokens');
  if (mode === 'budget' && budgetTokens === undefined)
    return fault('thinking.budget_tokens', 'a whole number', undefined);
  return present<Reasoning>({ effort, mode, budgetTokens, display: thinking?.optionalString('display') });
}

function readTier(fields: Fields): string | undefined {
  const tier = fields.optionalString('service_tier');
  return tier === 'default' ? 'standard' : tier;
}

function readTool(fields: Fields): Tool {
  const type = fields.string('type');
  if (type !== 'function' && type !== 'custom')
    return { type: 'opaque', dialect: 'openai-chat', raw: fields.raw(), at: fields.path };
  const inner = fields.inner(type);
  const name = inner.string('name');
  const description = inner.optionalString('description');
  const at = fields.path;
  if (type === 'custom') {
    const format = inner.json('format');
    return present<Tool>({ type, name, description, format, at, ext: extOf(fields) });
  }
  const parameters = inner.json('parameters');
  const strict = inner.boolean('strict');
  const cache = cacheMark(fields) ?? cacheMark(inner);
  const rest = { ...fields.rest(), ...present({ function: inner.rest() }) };
  const ext = Object.keys(rest).length > 0 ? { 'openai-chat': rest } : undefined;
  return present<Tool>({ type, name, description, parameters, strict, cache, at, ext });
}

function readToolChoice(fields: Fields): ToolChoice | undefined {
  const choice = fields.take('tool_choice');
  if (choice === undefined) return undefined;
  if (choice === 'none' || choice === 'auto' || choice === 'required') return { type: choice };
  if (typeof choice === 'string') return fault('tool_choice', 'none, auto, required or an object', choice);
  const inner = new Fields(choice, 'tool_choice');
  const type = inner.oneOf('type', ['function', 'custom', 'allowed_tools']);
  if (!type) return fault('tool_choice.type', 'function, custom or allowed_tools', undefined);
  if (type !== 'allowed_tools') return { type: 'tool', name: inner.inner(type).string('name') };
  const allowed = inner.inner('allowed_tools');
  const mode = allowed.oneOf('mode', ['auto', 'required']) ?? 'auto';
  const names = allowed.each('tools', (tool) =>
    tool.inner(tool.oneOf('type', ['function', 'custom']) ?? 'function').string('name'),
  );
  return { type: 'allowed', mode, names: names ?? fault(allowed.pathOf('tools'), 'a list of tools', undefined) };
}
