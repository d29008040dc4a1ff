import { isRecord, type Json, listIn, type Part, type Turn, textIn } from '../../conversation/parts.ts';
import { parsed, turnsOf } from '../../conversation/read.ts';

/** One of the answers side by side: whom to ask. */
export interface Column {
  readonly model: string;
  /** Slug of a stored config; '' for none. */
  readonly config: string;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

export interface Message {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** As data URLs. */
  readonly images?: readonly string[];
  readonly calls?: readonly ToolCall[];
  /** Of a tool's result: the call that it answers. */
  readonly callId?: string;
}

/** Everything that a call of the playground says; it travels in the address behind `#`. */
export interface Draft {
  readonly system: string;
  readonly messages: readonly Message[];
  readonly columns: readonly Column[];
  readonly temperature: string;
  readonly maxTokens: string;
  readonly topP: string;
  readonly effort: string;
  /** Tools as JSON; '' for none. */
  readonly tools: string;
  /** The schema that answers must fit, as JSON; '' for none. */
  readonly schema: string;
  readonly inputGuardrails: readonly string[];
  readonly outputGuardrails: readonly string[];
  readonly isStream: boolean;
}

export const EMPTY: Draft = {
  system: '',
  messages: [{ role: 'user', text: '' }],
  columns: [{ model: '', config: '' }],
  temperature: '',
  maxTokens: '',
  topP: '',
  effort: '',
  tools: '',
  schema: '',
  inputGuardrails: [],
  outputGuardrails: [],
  isStream: true,
};

/** What came by a link is whatever someone wrote: only what fits is taken. */
export function readDraft(value: unknown): Draft | null {
  if (!isRecord(value)) return null;
  const text = (name: string) => textIn(value[name]).slice(0, 1_000_000);
  const names = (name: string) => listIn(value[name]).filter((each) => typeof each === 'string');
  const columns = listIn(value.columns)
    .filter(isRecord)
    .slice(0, 4)
    .map(({ model, config }) => ({ model: textIn(model), config: textIn(config) }));
  const messages = listIn(value.messages).filter(isRecord).map(readMessage);
  return {
    system: text('system'),
    messages: messages.length > 0 ? messages : EMPTY.messages,
    columns: columns.length > 0 ? columns : EMPTY.columns,
    temperature: text('temperature'),
    maxTokens: text('maxTokens'),
    topP: text('topP'),
    effort: text('effort'),
    tools: text('tools'),
    schema: text('schema'),
    inputGuardrails: names('inputGuardrails'),
    outputGuardrails: names('outputGuardrails'),
    isStream: value.isStream !== false,
  };
}

function readMessage(message: Json): Message {
  const role = message.role === 'assistant' || message.role === 'tool' ? message.role : 'user';
  const images = listIn(message.images).filter((each) => typeof each === 'string');
  const calls = listIn(message.calls)
    .filter(isRecord)
    .map((call) => ({ id: textIn(call.id), name: textIn(call.name), args: textIn(call.args) }));
  return {
    role,
    text: textIn(message.text),
    ...(images.length > 0 && { images }),
    ...(calls.length > 0 && { calls }),
    ...(role === 'tool' && { callId: textIn(message.callId) }),
  };
}

/** The call of a log entry, to be changed and made again; null where it is no chat. */
export function draftOfCall(entry: {
  readonly model: string | null;
  readonly virtual_key: string | null;
  readonly request: { readonly body: string | null } | null;
}): Draft | null {
  const body = parsed(entry.request?.body);
  const hasTurns = body && (body.messages !== undefined || body.contents !== undefined || isItems(body.input));
  if (!body || !hasTurns) return null;
  const turns = turnsOf(body);
  const named = textIn(body.model) || entry.model || '';
  const model = entry.virtual_key && !named.startsWith('@') ? `@${entry.virtual_key}/${named}` : named;
  const number = (...members: readonly string[]) => {
    const found = members.map((member) => body[member]).find((value) => typeof value === 'number');
    return found === undefined ? '' : String(found);
  };
  const tools = listIn(body.tools).filter(isRecord).map(asChatTool);
  const format = isRecord(body.response_format) ? body.response_format : null;
  const schema = format && isRecord(format.json_schema) ? format.json_schema.schema : null;
  return {
    ...EMPTY,
    system: turns
      .filter(({ role }) => role === 'system')
      .map((turn) => textsOf(turn.parts))
      .join('\n\n'),
    messages: turns.filter(({ role }) => role !== 'system').flatMap(messagesOf),
    columns: [{ model, config: '' }],
    temperature: number('temperature'),
    maxTokens: number('max_completion_tokens', 'max_tokens', 'max_output_tokens'),
    topP: number('top_p'),
    effort: textIn(body.reasoning_effort),
    tools: tools.length > 0 ? JSON.stringify(tools, null, 2) : '',
    schema: schema ? JSON.stringify(schema, null, 2) : '',
    isStream: body.stream === true,
  };
}

const isItems = (input: unknown): boolean =>
  Array.isArray(input) && input.some((item) => isRecord(item) && (item.role !== undefined || item.type !== undefined));

const textsOf = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n\n');

function messagesOf({ role, parts }: Turn): Message[] {
  const results = parts.filter((part) => part.kind === 'result');
  if (results.length > 0)
    return results.map((part) => ({ role: 'tool', text: textsOf(part.parts), callId: part.id ?? '' }));
  const images = parts.flatMap((part) => (part.kind === 'image' ? [part.source] : []));
  const calls = parts.flatMap((part) =>
    part.kind === 'call' ? [{ id: part.id ?? part.name, name: part.name, args: part.args }] : [],
  );
  return [
    {
      role: role === 'assistant' ? 'assistant' : 'user',
      text: textsOf(parts),
      ...(images.length > 0 && { images }),
      ...(calls.length > 0 && { calls }),
    },
  ];
}

/** As /v1/chat/completions takes it, from the shape of any of the formats. */
function asChatTool(tool: Json): Json {
  if (isRecord(tool.function)) return tool;
  const { name, description } = tool;
  const parameters = tool.parameters ?? tool.input_schema;
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parameters }),
    },
  };
}
