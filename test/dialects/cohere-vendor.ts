import type {
  JsonObject,
  ModelReply,
  ModelRequest,
  Part,
  TextPart,
  TokenUsage,
  Tool,
  Turn,
} from '../../src/dialects/ir.ts';
import { objectIn, objectsIn, present, restOf } from '../../src/dialects/json.ts';
import { readDataUrl } from '../../src/dialects/media.ts';
import { joinedRuns, type VendorSide, withBytes } from './vendor-side.ts';

/** Cohere, as the laws need it. */
export const cohereSide: VendorSide = { readRequest, sayable, writeReply, writeStream };

const KNOWN = new Set([
  'model',
  'messages',
  'tools',
  'strict_tools',
  'tool_choice',
  'response_format',
  'thinking',
  'max_tokens',
  'stop_sequences',
  'temperature',
  'p',
  'k',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'logprobs',
  'stream',
]);

function readRequest(body: JsonObject): ModelRequest {
  const ext = restOf(body, KNOWN);
  const { tool_choice: choice } = body;
  return present<ModelRequest>({
    model: body.model as string,
    turns: readMessages(objectsIn(body.messages)),
    tools: readTools(body.tools, body.strict_tools),
    toolChoice: choice === undefined ? undefined : { type: choice === 'NONE' ? 'none' : 'required' },
    maxOutputTokens: body.max_tokens as number,
    temperature: body.temperature as number,
    topP: body.p as number,
    topK: body.k as number,
    stop: body.stop_sequences as string[],
    seed: body.seed as number,
    logprobs: body.logprobs ? {} : undefined,
    frequencyPenalty: body.frequency_penalty as number,
    presencePenalty: body.presence_penalty as number,
    responseFormat: readFormat(objectIn(body.response_format)),
    reasoning: readThinking(objectIn(body.thinking)),
    ext: ext && { cohere: ext },
  });
}

function readMessages(messages: readonly JsonObject[]): Turn[] {
  const turns: Turn[] = [];
  for (const { role, content, tool_plan, tool_calls, tool_call_id, ...rest } of messages) {
    const said = readContent(content);
    const ext = Object.keys(rest).length > 0 ? { cohere: rest } : undefined;
    const last = turns.at(-1);
    if (role === 'tool') {
      const result: Part = { type: 'tool-result', id: tool_call_id as string, parts: said as TextPart[] };
      if (last?.role === 'tool') turns[turns.length - 1] = { ...last, parts: [...last.parts, result] };
      else turns.push({ role, parts: [result] });
      continue;
    }
    const plan: Part[] = tool_plan ? [{ type: 'reasoning', text: tool_plan as string }] : [];
    const calls = objectsIn(tool_calls).map(readCall);
    turns.push(present<Turn>({ role: role as Turn['role'], parts: [...plan, ...said, ...calls], ext }));
  }
  return turns;
}

function readContent(content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return objectsIn(content).map(({ type, text, thinking, image_url, ...rest }) => {
    const ext = Object.keys(rest).length > 0 ? { cohere: rest } : undefined;
    if (type === 'text') return present<Part>({ type, text: text as string, ext });
    if (type === 'thinking') return { type: 'reasoning', text: thinking as string };
    if (type !== 'image_url') return { type: 'opaque', dialect: 'cohere', raw: { type, ...rest } };
    const { url, detail } = objectIn(image_url);
    const data = readDataUrl(url as string);
    const source = data ? ({ type: 'data', data: data.data } as const) : ({ type: 'url', url: url as string } as const);
    return present<Part>({ type: 'media', kind: 'image', source, mime: data?.mime, detail: detail as string, ext });
  });
}

function readCall({ id, function: called, ...rest }: JsonObject): Part {
  const { name, arguments: argsText } = objectIn(called);
  const { type, ...members } = rest;
  const ext = Object.keys(members).length > 0 ? { cohere: members } : undefined;
  return present<Part>({
    type: 'tool-call',
    id: id as string,
    name: name as string,
    argsText: argsText as string,
    ext,
  });
}

function readTools(tools: unknown, isStrict: unknown): Tool[] | undefined {
  return objectsIn(tools).length === 0
    ? undefined
    : objectsIn(tools).map(({ type, function: definition, ...rest }) => {
        const { name, description, parameters } = objectIn(definition);
        const ext = Object.keys(rest).length > 0 ? { cohere: rest } : undefined;
        return present<Tool>({
          type: 'function',
          name: name as string,
          description: description as string,
          parameters: parameters as JsonObject,
          strict: isStrict ? true : undefined,
          ext,
        });
      });
}

function readFormat({ type, json_schema }: JsonObject): ModelRequest['responseFormat'] {
  if (type === undefined) return undefined;
  return json_schema ? { type: 'schema', schema: objectIn(json_schema) } : { type: 'json' };
}

function readThinking({ type, token_budget }: JsonObject): ModelRequest['reasoning'] {
  if (type === undefined) return undefined;
  return type === 'disabled' ? { mode: 'off' } : { mode: 'budget', budgetTokens: token_budget as number };
}

const RAW: Readonly<Record<string, string>> = {
  stop: 'COMPLETE',
  'stop-sequence': 'STOP_SEQUENCE',
  length: 'MAX_TOKENS',
  'tool-calls': 'TOOL_CALL',
};

function sayable({ id, choices, usage }: ModelReply): ModelReply {
  const { parts, finish } = choices[0]!;
  const own = parts.flatMap((part): Part[] => {
    if (part.type === 'text') return [withBytes(part)];
    if (part.type === 'tool-call') return [part];
    return part.type === 'reasoning' && part.text ? [{ type: 'reasoning', text: part.text }] : [];
  });
  const reason = RAW[finish.reason] ? finish.reason : 'stop';
  return present<ModelReply>({
    id,
    choices: [{ parts: joinedRuns(own, (part) => part.type === 'text'), finish: { reason } }],
    usage: usage && sayableUsage(usage),
  });
}

const sayableUsage = ({ inputTokens, outputTokens, cachedInputTokens }: TokenUsage): TokenUsage =>
  present({ inputTokens, outputTokens, cachedInputTokens });

const writeUsage = ({ inputTokens, outputTokens, cachedInputTokens }: TokenUsage): JsonObject =>
  present({
    tokens: { input_tokens: inputTokens, output_tokens: outputTokens },
    cached_tokens: cachedInputTokens,
  });

const callsIn = (parts: readonly Part[]) => parts.filter((part) => part.type === 'tool-call');

const writeCall = ({ id, name, argsText }: Extract<Part, { type: 'tool-call' }>): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: argsText },
});

const writeItem = (part: Part): JsonObject =>
  part.type === 'reasoning'
    ? { type: 'thinking', thinking: part.text }
    : { type: 'text', text: (part as TextPart).text };

const writeLogprobs = (part: Part): JsonObject[] =>
  part.type === 'text' ? (part.logprobs ?? []).map(({ token, logprob }) => ({ text: token, logprobs: [logprob] })) : [];

/** With calls, the first thought is the plan. */
function planOf(parts: readonly Part[]): string | undefined {
  const [first] = parts;
  return first?.type === 'reasoning' && callsIn(parts).length > 0 ? first.text : undefined;
}

function writeReply({ id, choices, usage }: ModelReply): JsonObject {
  const { parts, finish } = choices[0]!;
  const plan = planOf(parts);
  const said = parts.slice(plan === undefined ? 0 : 1).filter((part) => part.type !== 'tool-call');
  const calls = callsIn(parts).map(writeCall);
  const logprobs = parts.flatMap(writeLogprobs);
  return {
    id,
    finish_reason: RAW[finish.reason],
    message: {
      role: 'assistant',
      ...(plan !== undefined && { tool_plan: plan }),
      ...(said.length > 0 && { content: said.map(writeItem) }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    ...(usage && { usage: writeUsage(usage) }),
    ...(logprobs.length > 0 && { logprobs }),
  };
}

function writeStream({ id, choices, usage }: ModelReply, pieces: (text: string) => string[]) {
  const { parts, finish } = choices[0]!;
  const plan = planOf(parts);
  const events: JsonObject[] = [{ type: 'message-start', id, delta: { message: { role: 'assistant' } } }];
  const add = (type: string, index: number, message: JsonObject, more: JsonObject = {}) =>
    events.push({ type, index, delta: { message }, ...more });
  for (const piece of pieces(plan ?? '')) add('tool-plan-delta', 0, { tool_plan: piece });
  let calls = 0;
  for (const [index, part] of parts.slice(plan === undefined ? 0 : 1).entries()) {
    if (part.type === 'tool-call') {
      const whole = writeCall(part);
      add('tool-call-start', calls, { tool_calls: { ...whole, function: { name: part.name, arguments: '' } } });
      for (const piece of pieces(part.argsText))
        add('tool-call-delta', calls, { tool_calls: { function: { arguments: piece } } });
      add('tool-call-end', calls++, {});
      continue;
    }
    const name = part.type === 'reasoning' ? 'thinking' : 'text';
    add('content-start', index, { content: { type: name, [name]: '' } });
    for (const piece of pieces((part as TextPart).text)) add('content-delta', index, { content: { [name]: piece } });
    for (const logprobs of writeLogprobs(part)) add('content-delta', index, { content: { text: '' } }, { logprobs });
    add('content-end', index, {});
  }
  const delta = present({ finish_reason: RAW[finish.reason], usage: usage && writeUsage(usage) });
  events.push({ type: 'message-end', id, delta });
  return events.map((event) => ({ event: event.type as string, data: JSON.stringify(event) }));
}
