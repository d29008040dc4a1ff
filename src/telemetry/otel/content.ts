import type { Attributes, AttributeValue } from './encode.ts';
import { Double } from './encode.ts';

/** A body that is longer is not read for its parameters: spans are built beside the log. */
const MOST_READ_BYTES = 256 * 1024;
/** The most of one body that goes into a span. */
const MOST_SHOWN = 64 * 1024;

type Json = Readonly<Record<string, unknown>>;
type Pair = readonly [string, AttributeValue];

const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export function parsedBody(bytes: Uint8Array | null): Json | null {
  if (!bytes || bytes.byteLength > MOST_READ_BYTES) return null;
  // Forms and sound begin with something else.
  if (bytes[0] !== 0x7b && bytes[0] !== 0x20 && bytes[0] !== 0x0a) return null;
  try {
    const parsed: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** Parameters of a request by their names in the conventions, in whichever of the client's dialects they stand. */
const NUMBERS: readonly (readonly [string, readonly string[], 'int' | 'double'])[] = [
  ['gen_ai.request.temperature', ['temperature'], 'double'],
  ['gen_ai.request.top_p', ['top_p', 'topP'], 'double'],
  ['gen_ai.request.top_k', ['top_k', 'topK'], 'double'],
  ['gen_ai.request.max_tokens', ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'maxOutputTokens'], 'int'],
  ['gen_ai.request.frequency_penalty', ['frequency_penalty', 'frequencyPenalty'], 'double'],
  ['gen_ai.request.presence_penalty', ['presence_penalty', 'presencePenalty'], 'double'],
  ['gen_ai.request.seed', ['seed'], 'int'],
  ['gen_ai.embeddings.dimension.count', ['dimensions', 'outputDimensionality'], 'int'],
];

const PARAMETER =
  /"(?:temperature|top_?[pPkK]|max_(?:completion_|output_)?tokens|maxOutputTokens|frequency_?[pP]enalty|presence_?[pP]enalty|seed|dimensions|outputDimensionality|n|candidateCount|stop(?:_sequences|Sequences)?|encoding_format|response_format|responseMimeType|text|service_tier)"/;

/** Whether there may be something in a body for `requestAttributes`: most requests name no parameter. */
export const tellsParameters = (body: string): boolean => body.length <= MOST_READ_BYTES && PARAMETER.test(body);

export function requestAttributes(body: Json): Attributes {
  const found: Pair[] = [];
  const config = isObject(body.generationConfig) ? body.generationConfig : isObject(body.options) ? body.options : null;
  for (const [name, members, kind] of NUMBERS) {
    for (const member of members) {
      const value = body[member] ?? config?.[member];
      if (typeof value !== 'number' || !Number.isFinite(value)) continue;
      found.push([name, kind === 'double' ? new Double(value) : Math.trunc(value)]);
      break;
    }
  }
  const choices = body.n ?? config?.candidateCount;
  if (typeof choices === 'number' && Number.isSafeInteger(choices) && choices !== 1)
    found.push(['gen_ai.request.choice.count', choices]);
  const stop = body.stop ?? body.stop_sequences ?? config?.stopSequences ?? config?.stop;
  const stops = (typeof stop === 'string' ? [stop] : listOf(stop)).filter((each) => typeof each === 'string');
  if (stops.length > 0) found.push(['gen_ai.request.stop_sequences', stops.slice(0, 16)]);
  const format = textOf(body.encoding_format);
  if (format) found.push(['gen_ai.request.encoding_formats', [format.slice(0, 64)]]);
  const type = outputType(body, config);
  if (type) found.push(['gen_ai.output.type', type]);
  const tier = textOf(body.service_tier);
  if (tier) found.push(['openai.request.service_tier', tier.slice(0, 64)]);
  return found;
}

function outputType(body: Json, config: Json | null): string | null {
  const format = isObject(body.response_format)
    ? body.response_format
    : isObject(body.text) && isObject(body.text.format)
      ? body.text.format
      : null;
  const type = textOf(format?.type) ?? textOf(body.response_format);
  if (type === 'json_object' || type === 'json_schema' || config?.responseMimeType === 'application/json')
    return 'json';
  return type === 'text' ? 'text' : null;
}

const REASONS = ['finish_reason', 'stop_reason', 'finishReason', 'done_reason'];
const REASON = /^[A-Za-z_]{1,64}$/;
const ID = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const MOST_REASONS = 16;
const LONGEST_VALUE = 256;
const HEAD_BYTES = 4_096;

/** What the ends of an answer say: each choice's reason to stop, and the answer's id. */
export function answerAttributes(body: string): Attributes {
  const found: Pair[] = [];
  const head = body.length <= HEAD_BYTES ? body : body.slice(0, HEAD_BYTES);
  const id = textsOf(head, 'id', ID, 1)[0] ?? textsOf(head, 'responseId', ID, 1)[0];
  if (id) found.push(['gen_ai.response.id', id]);
  const tail = body.length <= MOST_SHOWN ? body : body.slice(-MOST_SHOWN);
  // An answer speaks one dialect, which has one name for it.
  for (const name of REASONS) {
    const reasons = textsOf(tail, name, REASON, MOST_REASONS);
    if (reasons.length === 0) continue;
    found.push(['gen_ai.response.finish_reasons', reasons]);
    break;
  }
  return found;
}

/** The texts that members of this name have, wherever they stand. What is quoted in a text has a backslash before it. */
function textsOf(json: string, name: string, form: RegExp, most: number): string[] {
  const texts: string[] = [];
  const sought = `"${name}"`;
  for (let at = json.indexOf(sought); at >= 0 && texts.length < most; at = json.indexOf(sought, at + 1)) {
    if (json[at - 1] === '\\') continue;
    const colon = json.indexOf(':', at + sought.length);
    const quote = json.indexOf('"', colon);
    if (colon < 0 || quote < 0 || json.slice(colon + 1, quote).trim() !== '') continue;
    const end = json.indexOf('"', quote + 1);
    const text = end < 0 || end - quote > LONGEST_VALUE + 1 ? '' : json.slice(quote + 1, end);
    if (form.test(text)) texts.push(text);
  }
  return texts;
}

interface Part {
  readonly type: string;
  readonly [name: string]: unknown;
}
interface Message {
  readonly role: string;
  readonly parts: readonly Part[];
  readonly finish_reason?: string;
}

/** What was said, as the conventions have it. Only where the operator has switched it on. */
export function inputContent(body: Json): Attributes {
  const found: Pair[] = [];
  const system = partsOf(body.system ?? body.instructions ?? contentOf(body.systemInstruction));
  if (system.length > 0) found.push(['gen_ai.system_instructions', shown(system)]);
  const messages = messagesIn(body.messages ?? body.input ?? body.contents ?? body.prompt);
  if (messages.length > 0) found.push(['gen_ai.input.messages', shown(messages)]);
  if (Array.isArray(body.tools)) found.push(['gen_ai.tool.definitions', shown(body.tools)]);
  return found;
}

export function outputContent(bytes: Uint8Array): Attributes {
  const body = parsedBody(bytes);
  const messages = body ? answersIn(body) : streamedAnswer(bytes);
  return messages.length > 0 ? [['gen_ai.output.messages', shown(messages)]] : [];
}

/** JSON that is cut is no JSON: the longest texts are shortened instead. */
function shown(value: unknown): string {
  const whole = JSON.stringify(value);
  if (whole.length <= MOST_SHOWN) return whole;
  const shortened = JSON.stringify(value, (_, each) =>
    typeof each === 'string' && each.length > 1_024 ? `${each.slice(0, 1_024)}…` : each,
  );
  return shortened.length <= MOST_SHOWN ? shortened : '[]';
}

const contentOf = (value: unknown): unknown => (isObject(value) ? (value.parts ?? value.content) : value);

function messagesIn(value: unknown): Message[] {
  if (typeof value === 'string') return [{ role: 'user', parts: [{ type: 'text', content: value }] }];
  return listOf(value).flatMap((each) => {
    if (typeof each === 'string') return [{ role: 'user', parts: [{ type: 'text', content: each }] }];
    return isObject(each) ? [messageOf(each)] : [];
  });
}

function messageOf(message: Json): Message {
  const role = textOf(message.role) ?? (message.type === 'function_call_output' ? 'tool' : 'assistant');
  if (role === 'tool' && textOf(message.tool_call_id) !== null)
    return { role, parts: [{ type: 'tool_call_response', id: message.tool_call_id, result: message.content }] };
  if (message.type === 'function_call' || message.type === 'function_call_output')
    return { role, parts: [partOf(message)] };
  const calls = listOf(message.tool_calls).flatMap((call) => (isObject(call) ? [toolCall(call)] : []));
  return { role: role === 'model' ? 'assistant' : role, parts: [...partsOf(contentOf(message)), ...calls] };
}

function toolCall({ id, function: called }: Json): Part {
  const { name, arguments: given } = isObject(called) ? called : {};
  return { type: 'tool_call', id, name, arguments: given };
}

function partsOf(content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', content }];
  return listOf(content).flatMap((each) =>
    typeof each === 'string' ? [{ type: 'text', content: each }] : isObject(each) ? [partOf(each)] : [],
  );
}

function partOf(part: Json): Part {
  const type = textOf(part.type);
  if (typeof part.text === 'string') return { type: part.thought === true ? 'reasoning' : 'text', content: part.text };
  if (type === 'thinking') return { type: 'reasoning', content: part.thinking };
  if (type === 'tool_use') return { type: 'tool_call', id: part.id, name: part.name, arguments: part.input };
  if (type === 'function_call')
    return { type: 'tool_call', id: part.call_id, name: part.name, arguments: part.arguments };
  if (isObject(part.functionCall))
    return { type: 'tool_call', name: part.functionCall.name, arguments: part.functionCall.args };
  if (type === 'tool_result') return { type: 'tool_call_response', id: part.tool_use_id, result: part.content };
  if (type === 'function_call_output') return { type: 'tool_call_response', id: part.call_id, result: part.output };
  if (isObject(part.functionResponse))
    return { type: 'tool_call_response', id: part.functionResponse.name, result: part.functionResponse.response };
  // Pictures, sound and documents are named, never carried along.
  return { type: 'blob', modality: type ?? 'unknown' };
}

function answersIn(body: Json): Message[] {
  if (Array.isArray(body.choices))
    return body.choices.flatMap((choice) => {
      if (!isObject(choice)) return [];
      const said = isObject(choice.message) ? messageOf(choice.message) : messageOf({ content: choice.text });
      return [{ ...said, finish_reason: textOf(choice.finish_reason) ?? 'stop' }];
    });
  if (Array.isArray(body.candidates))
    return body.candidates.flatMap((candidate) =>
      isObject(candidate)
        ? [
            {
              role: 'assistant',
              parts: partsOf(contentOf(candidate.content)),
              finish_reason: textOf(candidate.finishReason) ?? 'stop',
            },
          ]
        : [],
    );
  if (Array.isArray(body.output)) return messagesIn(body.output);
  if (Array.isArray(body.content))
    return [{ role: 'assistant', parts: partsOf(body.content), finish_reason: textOf(body.stop_reason) ?? 'stop' }];
  return isObject(body.message) ? [messageOf(body.message)] : [];
}

/** The text of a stream, put together; what else it held stays in the log. */
function streamedAnswer(bytes: Uint8Array): Message[] {
  if (bytes.byteLength > MOST_READ_BYTES) return [];
  let text = '';
  for (const line of Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().split('\n')) {
    const data = line.startsWith('data:') ? line.slice(5).trim() : line.trim();
    if (data[0] !== '{') continue;
    const event = parsedBody(Buffer.from(data));
    if (event) text += deltaOf(event);
  }
  return text === '' ? [] : [{ role: 'assistant', parts: [{ type: 'text', content: text }] }];
}

function deltaOf(event: Json): string {
  if (Array.isArray(event.choices)) {
    const [choice] = event.choices as readonly unknown[];
    if (!isObject(choice)) return '';
    return (isObject(choice.delta) ? textOf(choice.delta.content) : textOf(choice.text)) ?? '';
  }
  if (Array.isArray(event.candidates)) {
    const [candidate] = event.candidates as readonly unknown[];
    const parts = isObject(candidate) ? partsOf(contentOf(candidate.content)) : [];
    return parts.map(({ type, content }) => (type === 'text' ? String(content) : '')).join('');
  }
  if (event.type === 'content_block_delta' && isObject(event.delta)) return textOf(event.delta.text) ?? '';
  if (event.type === 'response.output_text.delta') return textOf(event.delta) ?? '';
  return isObject(event.message) ? (textOf(event.message.content) ?? '') : '';
}
