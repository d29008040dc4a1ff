import { Fields, fault } from '../fields.ts';
import {
  EFFORTS,
  type JsonObject,
  type ModelRequest,
  type Reasoning,
  type ResponseFormat,
  type Settings,
  type Turn,
} from '../ir.ts';
import { present } from '../json.ts';
import { decodeItems } from './decode-items.ts';
import { readTool, readToolChoice } from './decode-tools.ts';
import { ENCRYPTED_REASONING, LOGPROBS } from './wire.ts';

const NAMES = {
  maxOutputTokens: 'max_output_tokens',
  topP: 'top_p',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  logprobs: 'top_logprobs',
  responseFormat: 'text.format',
  'responseFormat.name': 'text.format.name',
  'responseFormat.description': 'text.format.description',
  'responseFormat.strict': 'text.format.strict',
  'reasoning.display': 'reasoning.summary',
  serviceTier: 'service_tier',
  cache: 'prompt_cache_breakpoint',
  title: 'filename',
};

/** Members that no other dialect has, and without which the answer would be another one. */
const ESSENTIAL = ['background', 'conversation', 'moderation', 'previous_response_id', 'prompt', 'tool_choice'];

/** What may stand in for an input. */
const OTHER_INPUTS = ['previous_response_id', 'conversation', 'prompt'];

export function decodeRequest(body: unknown): ModelRequest {
  const fields = new Fields(body, '');
  const model = fields.string('model');
  const turns = [...instructions(fields), ...inputTurns(fields)];
  const isStream = fields.boolean('stream');
  const { settings, leftOver } = readSettings(fields);
  const rest: JsonObject = { ...fields.rest(), ...leftOver };
  return present<ModelRequest>({
    model,
    turns,
    ...settings,
    stream: isStream,
    // Streams of this dialect always tell the usage.
    includeUsage: isStream ? true : undefined,
    ext: Object.keys(rest).length > 0 ? { responses: rest } : undefined,
    origin: { dialect: 'responses', names: NAMES, essential: ESSENTIAL },
  });
}

function instructions(fields: Fields): Turn[] {
  const text = fields.optionalString('instructions');
  const at = 'instructions';
  return text ? [{ role: 'system', parts: [{ type: 'text', text, at }], at }] : [];
}

function inputTurns(fields: Fields): Turn[] {
  const input = fields.take('input');
  const at = 'input';
  if (typeof input === 'string')
    return [{ role: 'user', parts: input === '' ? [] : [{ type: 'text', text: input, at }], at }];
  if (Array.isArray(input)) return decodeItems(input, at);
  const hasAnother = OTHER_INPUTS.some((name) => fields.has(name));
  return input === undefined && hasAnother ? [] : fault('input', 'a string or a list of items', input);
}

function readSettings(fields: Fields): { settings: Settings; leftOver: JsonObject } {
  const { toolChoice, unknown: tool_choice } = readToolChoice(fields);
  const text = fields.fields('text');
  const format = text && readFormat(text);
  const reasoning = readReasoning(fields);
  const includes = fields.strings('include') ?? [];
  const kept = includes.filter((each) => each !== ENCRYPTED_REASONING && each !== LOGPROBS);
  const tier = fields.optionalString('service_tier');
  const settings: Settings = {
    tools: fields.eachOfSome('tools', readTool),
    toolChoice,
    parallelToolCalls: fields.boolean('parallel_tool_calls'),
    maxOutputTokens: fields.integer('max_output_tokens'),
    temperature: fields.number('temperature'),
    topP: fields.number('top_p'),
    logprobs: readLogprobs(fields, includes),
    responseFormat: format,
    reasoning: reasoning.settings,
    serviceTier: tier === 'default' ? 'standard' : tier,
    user: fields.optionalString('user'),
    metadata: readMetadata(fields),
  };
  const leftOver = present({
    tool_choice,
    text: text?.rest(),
    reasoning: reasoning.rest,
    include: kept.length > 0 ? kept : undefined,
    ...readStorage(fields),
    truncation: fields.oneOf('truncation', ['auto', 'disabled']) === 'auto' ? 'auto' : undefined,
    background: fields.boolean('background') || undefined,
    stream_options: fields.json('stream_options'),
  });
  return { settings, leftOver };
}

/** Responses are stored unless the client says no: the other way round than everywhere else, so `true` is what is kept. */
const readStorage = (fields: Fields): JsonObject => ({
  store: fields.boolean('store') === false ? undefined : true,
  previous_response_id: fields.optionalString('previous_response_id') || undefined,
});

function readLogprobs(fields: Fields, includes: readonly string[]): Settings['logprobs'] {
  const top = fields.integer('top_logprobs');
  if (!includes.includes(LOGPROBS) && !top) return undefined;
  return top === undefined ? {} : { top };
}

function readMetadata(fields: Fields): Settings['metadata'] {
  const metadata = fields.json('metadata');
  for (const name in metadata)
    if (typeof metadata[name] !== 'string') fault(`metadata.${name}`, 'a string', metadata[name]);
  return metadata as Settings['metadata'];
}

function readFormat(text: Fields): ResponseFormat | undefined {
  const format = text.fields('format');
  if (!format) return undefined;
  const type = format.oneOf('type', ['text', 'json_object', 'json_schema']);
  if (type === undefined) return fault(format.pathOf('type'), 'text, json_object or json_schema', undefined);
  if (type === 'text') return { type };
  if (type === 'json_object') return { type: 'json' };
  return present<ResponseFormat>({
    type: 'schema',
    schema: format.json('schema') ?? fault(format.pathOf('schema'), 'a JSON schema', undefined),
    name: format.string('name'),
    description: format.optionalString('description'),
    strict: format.boolean('strict'),
  });
}

/** A summary is a wish to see thoughts; how long it shall be is said only here. */
function readReasoning(fields: Fields): { settings?: Reasoning; rest?: JsonObject } {
  const reasoning = fields.fields('reasoning');
  if (!reasoning) return {};
  const effort = reasoning.oneOf('effort', EFFORTS);
  const summary = reasoning.oneOf('summary', ['auto', 'concise', 'detailed']);
  const settings = present<Reasoning>({ effort, display: summary && 'summarized' });
  const length = summary && summary !== 'auto' ? { summary } : {};
  const rest = { ...length, ...reasoning.rest() };
  return present({
    settings: Object.keys(settings).length > 0 ? settings : undefined,
    rest: Object.keys(rest).length > 0 ? rest : undefined,
  });
}
