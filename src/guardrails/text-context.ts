import type { EndpointType } from '../core/endpoints.ts';
import type { Hook, TextPart } from './check.ts';
import { isCode, isId, isModelName, isPlainKey } from './codes.ts';

/** What is known of a text by the place where it stands. A body has many of them, so each is made whole at once. */
export class Context {
  readonly role: string;
  readonly kind: TextPart['kind'];
  /** 0 for what stands before the conversation. */
  readonly turn: number;
  /** Set for values of a form that their author chose, such as a tool's arguments: all are texts, numbers too. */
  readonly isGiven: boolean;
  /** Set where a program reads: only what `isWord` does not take for a word of a program is a text. */
  readonly isWord: ((text: string) => boolean) | undefined;
  /** Set where a file stands: what is said beside it of its type. */
  readonly file: { readonly type: string | null } | undefined;

  constructor(
    role: string,
    kind: TextPart['kind'],
    turn: number,
    isGiven = false,
    isWord?: Context['isWord'],
    file?: Context['file'],
  ) {
    this.role = role;
    this.kind = kind;
    this.turn = turn;
    this.isGiven = isGiven;
    this.isWord = isWord;
    this.file = file;
  }

  said(role: string, kind: TextPart['kind'], isGiven = this.isGiven): Context {
    return new Context(role, kind, this.turn, isGiven, this.isWord, this.file);
  }

  inTurn(turn: number): Context {
    return new Context(this.role, this.kind, turn, this.isGiven, this.isWord, this.file);
  }

  /** Read by programs and by models, and no part of what is said. */
  named(isGiven = this.isGiven): Context {
    return new Context(this.role, 'name', this.turn, isGiven, undefined, this.file);
  }

  /** Read by programs, as long as it looks like a word of theirs. */
  codes(isWord: (text: string) => boolean = isCode): Context {
    return new Context(this.role, 'name', this.turn, this.isGiven, isWord, this.file);
  }

  holdingFile(type: string | null): Context {
    return new Context(this.role, this.kind, this.turn, this.isGiven, this.isWord, { type });
  }
}

export type Json = Readonly<Record<string, unknown>>;

/** Whose body it is. */
export interface Side {
  readonly on: Hook;
  readonly endpoint: EndpointType;
}

const ROLES: Readonly<Record<string, string>> = {
  system: 'system',
  developer: 'developer',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  model: 'assistant',
  chatbot: 'assistant',
  function: 'tool',
};

/** An unknown role counts as the caller's, whose words are trusted least. */
const roleOf = (spelt: string): string => ROLES[spelt.toLowerCase()] ?? 'user';

/** Settings of a request at its top, of which each has its words. */
const SETTINGS = new Set([
  'model',
  'stream_options',
  'reasoning',
  'reasoning_effort',
  'thinking',
  'output_config',
  'modalities',
  'responseModalities',
  'audio',
  'voice',
  'speed',
  'size',
  'quality',
  'style',
  'background',
  'moderation',
  'output_format',
  'encoding_format',
  'embedding_types',
  'input_type',
  'truncate',
  'service_tier',
  'tool_choice',
  'include',
  'store',
  'truncation',
  'prompt_cache_retention',
  'verbosity',
  'anthropic_version',
  'anthropic_beta',
  'safetySettings',
  'safety_settings',
  'cachedContent',
  'jsonrpc',
  'method',
]);

/** Settings that a caller words freely. */
const FREE_SETTINGS = new Set(['metadata', 'stop', 'stop_sequences', 'requestMetadata', 'labels']);
const ID_SETTINGS = new Set(['user', 'safety_identifier', 'prompt_cache_key']);

/** Of an API that the gateway does not know, those that are settings wherever they are found. */
const KNOWN_SETTINGS = new Set([
  'model',
  'stream_options',
  'reasoning',
  'thinking',
  'tool_choice',
  'safetySettings',
  'safety_settings',
  'cachedContent',
  'anthropic_version',
  'jsonrpc',
  'method',
]);

/** What an operator or developer says before the conversation. */
const PREAMBLE = new Set([
  'system',
  'systemInstruction',
  'system_instruction',
  'instructions',
  'preamble',
  'tools',
  'functions',
  'toolConfig',
  'tool_config',
  'response_format',
  'generationConfig',
  'generation_config',
]);

/** What an answer of the Responses API repeats of its request. */
const REPEATED = new Set([
  'instructions',
  'tools',
  'tool_choice',
  'metadata',
  'text',
  'reasoning',
  'truncation',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt',
  'include',
  'background',
]);

/** Members whose text is a name or a code that a program reads, wherever they stand. */
const CODES = new Set([
  'type',
  'role',
  'id',
  'model',
  'object',
  'media_type',
  'mime_type',
  'mimeType',
  'detail',
  'format',
  'required',
  'effort',
  'status',
  'finish_reason',
  'stop_reason',
  'finishReason',
  'stopReason',
  'system_fingerprint',
  'service_tier',
  'modelVersion',
  'category',
  'probability',
  'ttl',
  'logId',
]);

/** Members that hold a file, what only its maker can read, or the address of a file, which may be the file itself. */
const FILES = new Set([
  'b64_json',
  'file_data',
  'bytes',
  'blob',
  'signature',
  'encrypted_content',
  'encrypted_index',
  'thoughtSignature',
  'thought_signature',
]);
const ADDRESSES = new Set(['url', 'image_url', 'file_url', 'uri', 'fileUri', 'file_uri']);
const IS_ADDRESSED_FILE = /^data:/i;

/** Subtrees of an answer in which no text of the model stands; `logprobs` repeats all of it, letter by letter. */
const APART = new Set(['usage', 'usageMetadata', 'safetyRatings', 'metrics', 'obfuscation']);
export const REVEALING = new Set(['logprobs', 'logprobsResult', 'top_logprobs']);

const TOOL_CALLS = new Set(['tool_calls', 'function_call', 'functionCall', 'toolUse', 'tool_call', 'toolCalls']);
const TOOL_RESULTS = new Set(['functionResponse', 'toolResult', 'tool_results']);
const THOUGHTS = new Set(['reasoning_content', 'reasoning', 'thinking', 'reasoningContent']);
/** Where a tool's values stand within a call or a result of it. */
const GIVEN = new Set(['input', 'args', 'arguments', 'response', 'json', 'parameters', 'action', 'structuredContent']);

/** Members of MCP messages that programs read, apart from those of its `_meta` that the protocol itself defines. */
const MCP_CODES = new Set([
  'jsonrpc',
  'method',
  'cursor',
  'nextCursor',
  'requestState',
  'resultType',
  'cacheScope',
  'protocolVersion',
  'progressToken',
]);
const isMcpCode = (key: string) => MCP_CODES.has(key) || key.startsWith('io.modelcontextprotocol/');

const CALL_TYPE =
  /(?:tool_use|_call|function_call_arguments\.\w+|tool_call_input\.\w+|_call\.\w+|input_json_delta|-call)$/;
const RESULT_TYPE = /(?:_result|_call_output|-result)$/;
const THOUGHT_TYPE = /^(?:response\.)?(?:reasoning|thinking|redacted_thinking|thought)/;

/** The lists of an answer whose elements are answers of their own. */
const CHOICES = new Set(['choices', 'candidates', 'generations', 'data', 'results', 'predictions', 'output_texts']);

/** Whether each element of a list at the top is a turn. */
export const startsTurns = (key: string, { on }: Side): boolean =>
  on === 'output' ? CHOICES.has(key) : !PREAMBLE.has(key);

/** For a member at the top of a body; null where no text stands. `outer` is what holds for the body. */
export function contextAtTop(key: string, value: unknown, { on, endpoint }: Side, outer: Context): Context | null {
  if (on === 'output') return outer;
  if (key === 'model') return outer.inTurn(0).codes(isModelName);
  if (endpoint === 'proxy' ? KNOWN_SETTINGS.has(key) : SETTINGS.has(key)) return outer.inTurn(0).codes();
  if (FREE_SETTINGS.has(key)) return endpoint === 'proxy' ? outer : outer.inTurn(0).named(true);
  if (ID_SETTINGS.has(key)) return outer.inTurn(0).codes(isId);
  // A format that is named, not described.
  if (key === 'response_format' && typeof value === 'string') return outer.inTurn(0).codes();
  if (key === 'language' && endpoint === 'createTranscription') return outer.inTurn(0).codes();
  const isFormat = key === 'text' && endpoint === 'createModelResponse';
  if (isFormat || PREAMBLE.has(key)) return outer.inTurn(0).said('system', outer.kind);
  // Whatever their members are called, a model reads them all.
  if (key === 'documents') return outer.said(outer.role, outer.kind, true);
  return key === 'prediction' ? outer.said('assistant', outer.kind) : outer;
}

/** For what stands in an object, by what the object says of itself. */
export function contextInside(object: Json, outer: Context): Context {
  if (outer.isGiven || outer.kind === 'name') return outer;
  let { role, kind } = outer;
  const { role: spelt, type, thought: isThought } = object;
  if (typeof spelt === 'string') {
    role = roleOf(spelt);
    kind = role === 'tool' ? 'tool_result' : kind === 'reasoning' ? kind : 'text';
  }
  if (typeof type === 'string') {
    if (CALL_TYPE.test(type)) [role, kind] = ['assistant', 'tool_call'];
    else if (RESULT_TYPE.test(type)) [role, kind] = ['tool', 'tool_result'];
    else if (THOUGHT_TYPE.test(type)) kind = 'reasoning';
  }
  if (isThought === true && kind === 'text') kind = 'reasoning';
  return role === outer.role && kind === outer.kind ? outer : outer.said(role, kind);
}

/** For a member of an object that is not at the top; null where no text stands. */
export function contextOfMember(key: string, value: unknown, object: Json, inner: Context, side: Side): Context | null {
  if (inner.isGiven) return inner;
  if (side.on === 'output' && object.object === 'response' && REPEATED.has(key)) return null;
  if (key === 'name') return isMcpAddress(side) ? inner.codes() : inner.named();
  if (inner.isWord) return inner;
  if (side.endpoint === 'mcp') {
    if (isMcpCode(key)) return inner.codes();
    // The caller chooses the address that it asks a server for.
    if (key === 'uri' && side.on === 'input') return inner;
  }
  if (side.on === 'output' && APART.has(key)) return inner.codes();
  if (typeof value === 'string' || Array.isArray(value)) {
    const known = contextOfCode(key, value, object, inner);
    if (known) return known;
  }
  if (TOOL_CALLS.has(key)) return inner.said('assistant', 'tool_call');
  if (TOOL_RESULTS.has(key)) return inner.said('tool', 'tool_result');
  if (THOUGHTS.has(key)) return inner.said(inner.role, 'reasoning');
  if (typeof value !== 'object' || value === null) return inner;
  const isToolValue = inner.kind === 'tool_call' || inner.kind === 'tool_result' || key === 'arguments';
  if (isToolValue && GIVEN.has(key))
    return inner.said(inner.role, inner.kind === 'tool_result' ? 'tool_result' : 'tool_call', true);
  return inner;
}

/** A caller of an MCP server uses a name that the server has given. */
const isMcpAddress = ({ endpoint, on }: Side) => endpoint === 'mcp' && on === 'input';

/** Null where the member holds a text like any other. */
function contextOfCode(key: string, value: unknown, object: Json, inner: Context): Context | null {
  if (ADDRESSES.has(key) && !(typeof value === 'string' && IS_ADDRESSED_FILE.test(value))) return inner.named();
  // What is not said to be text is a picture, a sound or a file.
  const isData = key === 'data' && typeof value === 'string' && object.type !== 'text' && !isEvent(object);
  if (isData || FILES.has(key) || ADDRESSES.has(key)) return inner.holdingFile(typeIn(object));
  if (CODES.has(key)) return inner.codes(key === 'id' ? isId : isCode);
  return key.endsWith('_id') || key.endsWith('Id') ? inner.codes(isId) : null;
}

/** Messages of logs say what they have to say in a member of this name. */
const isEvent = ({ level }: Json): boolean => typeof level === 'string';

function typeIn(object: Json): string | null {
  const { media_type, mime_type, mimeType, format } = object;
  for (const type of [media_type, mime_type, mimeType, format]) if (typeof type === 'string') return type;
  return null;
}

/** Members whose own members are named by the author of the request. */
const MAPS = new Set([
  'properties',
  '$defs',
  'definitions',
  'patternProperties',
  'dependentSchemas',
  'dependentRequired',
]);

/** Whether the name of a member is a text: its author chose it, or no API has such a name. */
export const isNameText = (key: string, of: string | number | null, context: Context): boolean =>
  context.isGiven || (typeof of === 'string' && MAPS.has(of)) || !isPlainKey(key);
