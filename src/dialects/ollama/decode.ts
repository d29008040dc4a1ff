import { Fields, fault } from '../fields.ts';
import {
  type DialectName,
  EFFORTS,
  type JsonObject,
  type MediaPart,
  type ModelRequest,
  type Part,
  type Reasoning,
  type ResponseFormat,
  type Settings,
  type Tool,
  type Turn,
} from '../ir.ts';
import { present } from '../json.ts';

const NAMES = {
  maxOutputTokens: 'options.num_predict',
  temperature: 'options.temperature',
  topP: 'options.top_p',
  topK: 'options.top_k',
  stop: 'options.stop',
  seed: 'options.seed',
  frequencyPenalty: 'options.frequency_penalty',
  presencePenalty: 'options.presence_penalty',
  responseFormat: 'format',
  reasoning: 'think',
  'reasoning.mode': 'think',
  'reasoning.effort': 'think',
};

/** Members without which the answer would be another one: how a prompt is put together, and where it goes on. */
const ESSENTIAL = ['template', 'raw', 'context', 'suffix'];

/** `/api/chat`: a conversation. */
export function decodeChat(body: unknown): ModelRequest {
  const fields = new Fields(body, '');
  const reader = new MessageReader();
  const turns = fields.each('messages', (message) => reader.turn(message)) ?? fault('messages', 'a list', undefined);
  return request(fields, joined(turns), 'ollama');
}

/** `/api/generate`: a prompt, and perhaps what the system says before it. */
export function decodePrompt(body: unknown): ModelRequest {
  const fields = new Fields(body, '');
  const system = fields.optionalString('system');
  const text = fields.optionalString('prompt') ?? fault('prompt', 'a string', undefined);
  const said: Part[] = text ? [{ type: 'text', text, at: 'prompt' }] : [];
  const turns: Turn[] = [{ role: 'user', parts: [...said, ...images(fields)], at: 'prompt' }];
  if (system) turns.unshift({ role: 'system', parts: [{ type: 'text', text: system, at: 'system' }], at: 'system' });
  for (const name of ESSENTIAL) if (isNothing(fields.raw()[name])) fields.take(name);
  return request(fields, turns, 'ollama-generate');
}

const isNothing = (value: unknown): boolean =>
  value === '' || value === false || (Array.isArray(value) && value.length === 0);

function request(fields: Fields, turns: readonly Turn[], dialect: DialectName): ModelRequest {
  const stream = fields.boolean('stream') ?? true;
  const options = fields.fields('options');
  const settings = options ? readOptions(options) : {};
  const model = fields.string('model');
  const tools = fields.eachOfSome('tools', readTool);
  const responseFormat = readFormat(fields);
  const reasoning = readThink(fields);
  const rest: Record<string, unknown> = { ...fields.rest() };
  for (const [name, value] of Object.entries(options?.rest() ?? {})) rest[`options.${name}`] = value;
  return present<ModelRequest>({
    model,
    turns,
    tools,
    ...settings,
    responseFormat,
    reasoning,
    stream,
    includeUsage: stream ? true : undefined,
    ext: Object.keys(rest).length > 0 ? { [dialect]: rest } : undefined,
    origin: { dialect, names: NAMES, essential: ESSENTIAL },
  });
}

/** Fewer than none means as many as the model gives. */
function readOptions(fields: Fields): Settings {
  const most = fields.integer('num_predict', -2);
  const stop = fields.raw().stop;
  return present<Settings>({
    maxOutputTokens: most !== undefined && most > 0 ? most : undefined,
    temperature: fields.number('temperature'),
    topP: fields.number('top_p'),
    topK: fields.integer('top_k'),
    stop: typeof stop === 'string' ? [fields.string('stop')] : fields.strings('stop'),
    seed: fields.integer('seed', Number.MIN_SAFE_INTEGER),
    frequencyPenalty: fields.number('frequency_penalty'),
    presencePenalty: fields.number('presence_penalty'),
  });
}

function readFormat(fields: Fields): ResponseFormat | undefined {
  const format = fields.take('format');
  if (format === undefined || format === '') return undefined;
  if (format === 'json') return { type: 'json' };
  if (typeof format !== 'object' || Array.isArray(format)) return fault('format', '"json" or a JSON schema', format);
  return { type: 'schema', schema: format as JsonObject };
}

function readThink(fields: Fields): Reasoning | undefined {
  const think = fields.take('think');
  if (think === undefined || think === '') return undefined;
  if (typeof think === 'boolean') return { mode: think ? 'adaptive' : 'off' };
  const effort = EFFORTS.find((known) => known === think);
  return effort ? { effort } : fault('think', 'true, false, low, medium or high', think);
}

function readTool(fields: Fields): Tool {
  fields.oneOf('type', ['function']);
  const inner = fields.inner('function');
  return present<Tool>({
    type: 'function',
    name: inner.string('name'),
    description: inner.optionalString('description'),
    parameters: inner.json('parameters'),
    at: fields.path,
  });
}

interface Called {
  readonly id: string;
  readonly name: string;
  isAnswered: boolean;
}

class MessageReader {
  readonly #calls: Called[] = [];
  #madeIds = 0;

  turn(fields: Fields): Turn {
    const role =
      fields.oneOf('role', ['system', 'user', 'assistant', 'tool']) ??
      fault(fields.pathOf('role'), 'one of system, user, assistant, tool', undefined);
    const text = fields.optionalString('content') ?? '';
    const at = fields.path;
    const said: Part[] = text ? [{ type: 'text', text, at }] : [];
    if (role === 'tool') return { role, parts: [this.#result(fields, text)], at };
    const thinking = fields.optionalString('thinking');
    const thoughts: Part[] = thinking ? [{ type: 'reasoning', text: thinking, at }] : [];
    const calls = fields.each('tool_calls', (call) => this.#call(call)) ?? [];
    return { role, parts: [...thoughts, ...said, ...images(fields), ...calls], at };
  }

  #call(fields: Fields): Part {
    const inner = fields.inner('function');
    const name = inner.string('name');
    const id = fields.optionalString('id') || `call_${this.#madeIds++}`;
    this.#calls.push({ id, name, isAnswered: false });
    return { type: 'tool-call', id, name, argsText: JSON.stringify(inner.json('arguments') ?? {}), at: fields.path };
  }

  /** Many clients name only the tool, or not even that: then the first call without an answer is meant. */
  #result(fields: Fields, text: string): Part {
    const id = fields.optionalString('tool_call_id');
    const name = fields.optionalString('tool_name') ?? fields.optionalString('name');
    const open = this.#calls.filter(({ isAnswered }) => !isAnswered);
    const call = id
      ? this.#calls.find((known) => known.id === id)
      : (open.find((known) => known.name === name) ?? open[0]);
    if (!call) fault(fields.path, 'the result of a call that was made before', id ?? name);
    else call.isAnswered = true;
    const parts = text ? [{ type: 'text', text, at: fields.path } as const] : [];
    return { type: 'tool-result', id: id ?? call?.id ?? '', parts, at: fields.path };
  }
}

/** Results in a row are one turn. */
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

/** How the Base64 of each kind of picture begins. */
const MAGIC: readonly (readonly [string, string])[] = [
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
];

const images = (fields: Fields): MediaPart[] =>
  (fields.strings('images') ?? []).map((data, index) => ({
    type: 'media',
    kind: 'image',
    source: { type: 'data', data },
    mime: MAGIC.find(([start]) => data.startsWith(start))?.[1] ?? 'image/png',
    at: `${fields.pathOf('images')}[${index}]`,
  }));
