import type {
  JsonObject,
  ModelReply,
  ModelRequest,
  Part,
  Reasoning,
  TokenUsage,
  Tool,
  ToolChoice,
  Turn,
} from '../../src/dialects/ir.ts';
import { isObject, objectIn, objectsIn, present, restOf } from '../../src/dialects/json.ts';
import type { VendorSide } from './vendor-side.ts';

/** Bedrock, as the laws need it. */
export const converseSide: VendorSide = { readRequest, sayable, writeReply, writeStream };

const KNOWN = new Set([
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'outputConfig',
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'requestMetadata',
  'serviceTier',
]);

function readRequest(body: JsonObject, model: string): ModelRequest {
  const { maxTokens, temperature, topP, stopSequences } = objectIn(body.inferenceConfig);
  const fields = objectIn(body.additionalModelRequestFields);
  const { textFormat, effort } = objectIn(body.outputConfig);
  const system = readBlocks(body.system);
  const { tools, toolChoice } = objectIn(body.toolConfig);
  const tier = objectIn(body.serviceTier).type;
  const ext = restOf(body, KNOWN);
  return present<ModelRequest>({
    model,
    turns: [
      ...(system.length > 0 ? [{ role: 'system', parts: system } as const] : []),
      ...objectsIn(body.messages).flatMap(readMessage),
    ],
    tools: readTools(tools),
    toolChoice: isObject(toolChoice) ? readChoice(toolChoice) : undefined,
    maxOutputTokens: maxTokens as number,
    temperature: temperature as number,
    topP: topP as number,
    topK: (fields.top_k ?? objectIn(fields.inferenceConfig).topK) as number,
    stop: stopSequences as string[],
    responseFormat: textFormat ? readFormat(objectIn(textFormat)) : undefined,
    reasoning: readReasoning(objectIn(fields.thinking), effort) ?? readNova(objectIn(fields.reasoningConfig)),
    metadata: body.requestMetadata as Record<string, string>,
    serviceTier: (tier === 'default' ? 'standard' : tier) as string,
    ext: ext && { converse: ext },
  });
}

/** Results come first; what follows them is the user's. */
function readMessage(message: JsonObject): Turn[] {
  const parts = readBlocks(message.content);
  const rest = restOf(message, new Set(['role', 'content']));
  const ext = rest && { converse: rest };
  if (message.role === 'assistant') return [present<Turn>({ role: 'assistant', parts, ext })];
  const results = parts.filter((part) => part.type === 'tool-result');
  const said = parts.filter((part) => part.type !== 'tool-result');
  return [
    ...(results.length > 0 ? [{ role: 'tool', parts: results } as const] : []),
    ...(said.length > 0 ? [present<Turn>({ role: 'user', parts: said, ext })] : []),
  ];
}

function readBlocks(blocks: unknown): Part[] {
  const parts: Part[] = [];
  for (const block of objectsIn(blocks)) {
    const point = block.cachePoint;
    if (isObject(point)) parts.push({ ...parts.pop()!, cache: present({ ttl: point.ttl as string }) } as Part);
    else parts.push(readBlock(block));
  }
  return parts;
}

const MEDIA = ['image', 'document', 'video', 'audio'] as const;
const MIMES = { image: 'image/', document: 'application/', video: 'video/', audio: 'audio/' };

function readBlock(block: JsonObject): Part {
  const { text, toolUse, toolResult, reasoningContent, image, document, video, audio, ...rest } = block;
  const ext = Object.keys(rest).length > 0 ? { converse: rest } : undefined;
  if (typeof text === 'string') return present<Part>({ type: 'text', text, ext });
  if (isObject(toolUse))
    return {
      type: 'tool-call',
      id: toolUse.toolUseId as string,
      name: toolUse.name as string,
      argsText: JSON.stringify(toolUse.input),
    };
  if (isObject(toolResult))
    return present<Part>({
      type: 'tool-result',
      id: toolResult.toolUseId as string,
      parts: readBlocks(toolResult.content) as [],
      isError: toolResult.status === 'error' ? true : undefined,
    });
  if (isObject(reasoningContent)) return readThought(reasoningContent);
  const kind = MEDIA.find((name) => isObject(block[name]));
  if (!kind) return { type: 'opaque', dialect: 'converse', raw: block };
  const { format, source, name } = objectIn(block[kind]);
  return present<Part>({
    type: 'media',
    kind,
    source: { type: 'data', data: objectIn(source).bytes as string },
    mime: `${MIMES[kind]}${format}`,
    title: name as string,
    ext,
  });
}

function readThought({ reasoningText, redactedContent }: JsonObject): Part {
  if (redactedContent) return { type: 'reasoning', redacted: redactedContent as string, signedBy: 'converse' };
  const { text, signature } = objectIn(reasoningText);
  return { type: 'reasoning', text: text as string, signature: signature as string, signedBy: 'converse' };
}

function readTools(tools: unknown): Tool[] | undefined {
  const all: Tool[] = [];
  for (const tool of objectsIn(tools)) {
    const point = tool.cachePoint;
    if (isObject(point)) {
      all.push({ ...all.pop()!, cache: present({ ttl: point.ttl as string }) } as Tool);
      continue;
    }
    const { name, description, inputSchema, strict, ...rest } = objectIn(tool.toolSpec);
    all.push(
      present<Tool>({
        type: 'function',
        name: name as string,
        description: description as string,
        parameters: objectIn(inputSchema).json as JsonObject,
        strict: strict as boolean,
        ext: Object.keys(rest).length > 0 ? { converse: rest } : undefined,
      }),
    );
  }
  return all.length > 0 ? all : undefined;
}

function readChoice(choice: JsonObject): ToolChoice {
  if (choice.auto) return { type: 'auto' };
  return choice.any ? { type: 'required' } : { type: 'tool', name: objectIn(choice.tool).name as string };
}

function readFormat({ structure }: JsonObject): ModelRequest['responseFormat'] {
  const { schema, name, description } = objectIn(objectIn(structure).jsonSchema);
  return present({
    type: 'schema' as const,
    schema: JSON.parse(schema as string),
    name: name as string,
    description: description as string,
  });
}

const MODES: Readonly<Record<string, Reasoning['mode']>> = { disabled: 'off', adaptive: 'adaptive', enabled: 'budget' };

function readReasoning({ type, budget_tokens }: JsonObject, effort: unknown): Reasoning | undefined {
  if (type === undefined && effort === undefined) return undefined;
  const mode = type === undefined ? undefined : MODES[String(type)];
  return present<Reasoning>({ mode, budgetTokens: budget_tokens as number, effort: effort as Reasoning['effort'] });
}

function readNova({ type, maxReasoningEffort }: JsonObject): Reasoning | undefined {
  if (type === 'disabled') return { mode: 'off' };
  return maxReasoningEffort ? { effort: maxReasoningEffort as Reasoning['effort'] } : undefined;
}

const RAW: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-overflow': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'content_filtered',
  refusal: 'refusal',
  pause: 'pause_turn',
};

function sayable({ choices, usage, serviceTier }: ModelReply): ModelReply {
  const { parts, finish } = choices[0]!;
  return present<ModelReply>({
    choices: [{ parts: parts.flatMap(sayablePart), finish }],
    usage: usage && present<TokenUsage>({ ...usage, reasoningTokens: undefined, audioInputTokens: undefined }),
    serviceTier: usage && serviceTier,
  });
}

/** The bytes of a redacted thought are base64. */
function sayablePart(part: Part): Part[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }];
  if (part.type === 'tool-call') return [part];
  if (part.type !== 'reasoning') return [];
  if (part.redacted !== undefined)
    return [{ ...part, redacted: Buffer.from(part.redacted).toString('base64'), signedBy: 'converse' }];
  return [part.signature === undefined ? part : { ...part, signedBy: 'converse' }];
}

function writeBlock(part: Part): JsonObject {
  if (part.type === 'tool-call')
    return { toolUse: { toolUseId: part.id, name: part.name, input: JSON.parse(part.argsText) } };
  if (part.type !== 'reasoning') return { text: (part as { text: string }).text };
  if (part.redacted !== undefined) return { reasoningContent: { redactedContent: part.redacted } };
  return { reasoningContent: { reasoningText: present({ text: part.text, signature: part.signature }) } };
}

function writeUsage(usage: TokenUsage): JsonObject {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens: read, cacheWriteTokens: written } = usage;
  const short = usage.cacheWrite5mTokens;
  const details = [
    { ttl: '1h', inputTokens: usage.cacheWrite1hTokens },
    { ttl: '5m', inputTokens: short },
  ];
  return present({
    inputTokens: inputTokens - (read ?? 0) - (written ?? 0),
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cacheReadInputTokens: read,
    cacheWriteInputTokens: written,
    cacheDetails: short === undefined ? undefined : details,
  });
}

const writeFinish = ({ reason, stopSequence }: ModelReply['choices'][number]['finish']): JsonObject =>
  present({
    stopReason: RAW[reason],
    additionalModelResponseFields: stopSequence === undefined ? undefined : { stop_sequence: stopSequence },
  });

const writeTier = (tier: string | undefined): JsonObject =>
  tier === undefined ? {} : { serviceTier: { type: tier === 'standard' ? 'default' : tier } };

function writeReply({ choices, usage, serviceTier }: ModelReply): JsonObject {
  const { parts, finish } = choices[0]!;
  return {
    output: { message: { role: 'assistant', content: parts.map(writeBlock) } },
    ...writeFinish(finish),
    ...(usage && { usage: writeUsage(usage) }),
    ...writeTier(serviceTier),
  };
}

function writeStream({ choices, usage, serviceTier }: ModelReply, pieces: (text: string) => string[]) {
  const { parts, finish } = choices[0]!;
  const events: [event: string, data: JsonObject][] = [['messageStart', { role: 'assistant' }]];
  for (const [contentBlockIndex, part] of parts.entries()) {
    const delta = (value: JsonObject) => events.push(['contentBlockDelta', { contentBlockIndex, delta: value }]);
    if (part.type === 'tool-call') {
      const start = { toolUse: { toolUseId: part.id, name: part.name } };
      events.push(['contentBlockStart', { contentBlockIndex, start }]);
      if (part.argsText !== '{}') for (const input of pieces(part.argsText)) delta({ toolUse: { input } });
    } else if (part.type === 'reasoning') {
      for (const text of pieces(part.text ?? '')) delta({ reasoningContent: { text } });
      if (part.signature) delta({ reasoningContent: { signature: part.signature } });
      if (part.redacted) delta({ reasoningContent: { redactedContent: part.redacted } });
    } else for (const text of pieces((part as { text: string }).text)) delta({ text });
    events.push(['contentBlockStop', { contentBlockIndex }]);
  }
  events.push(['messageStop', writeFinish(finish)]);
  if (usage) events.push(['metadata', { usage: writeUsage(usage), ...writeTier(serviceTier) }]);
  return events.map(([event, data]) => ({ event, data: JSON.stringify(data) }));
}
