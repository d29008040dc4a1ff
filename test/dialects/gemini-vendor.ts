import type {
  JsonObject,
  MediaPart,
  ModelReply,
  ModelRequest,
  Part,
  TokenUsage,
  Tool,
  ToolChoice,
  Turn,
} from '../../src/dialects/ir.ts';
import { objectIn, objectsIn, present, restOf } from '../../src/dialects/json.ts';
import { kindOf } from '../../src/dialects/media.ts';
import { joinedRuns, type VendorSide, withBytes } from './vendor-side.ts';

/** Gemini, as the laws need it. */
export const geminiSide: VendorSide = { readRequest, sayable, writeReply, writeStream };

const CONFIG = new Set(['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'serviceTier']);

function readRequest(body: JsonObject, model: string): ModelRequest {
  const config = objectIn(body.generationConfig);
  const system = objectsIn(objectIn(body.systemInstruction).parts).flatMap(readPart);
  const ext = restOf(body, CONFIG);
  return present<ModelRequest>({
    model,
    turns: [
      ...(system.length > 0 ? [{ role: 'system', parts: system } as const] : []),
      ...objectsIn(body.contents).map(readContent),
    ],
    tools: readTools(body.tools),
    toolChoice: readChoice(objectIn(objectIn(body.toolConfig).functionCallingConfig)),
    maxOutputTokens: config.maxOutputTokens as number,
    temperature: config.temperature as number,
    topP: config.topP as number,
    topK: config.topK as number,
    stop: config.stopSequences as string[],
    n: config.candidateCount as number,
    seed: config.seed as number,
    logprobs: config.responseLogprobs ? present({ top: config.logprobs as number }) : undefined,
    frequencyPenalty: config.frequencyPenalty as number,
    presencePenalty: config.presencePenalty as number,
    responseFormat: readFormat(config),
    reasoning: readThinking(objectIn(config.thinkingConfig)),
    serviceTier: body.serviceTier as string,
    ext: ext && { gemini: ext },
  });
}

function readContent(content: JsonObject): Turn {
  const parts = objectsIn(content.parts);
  const isResults = parts.some((part) => part.functionResponse);
  const role = content.role === 'model' ? 'assistant' : isResults ? 'tool' : 'user';
  const rest = restOf(content, new Set(['role', 'parts']));
  return present<Turn>({ role, parts: parts.flatMap(readPart), ext: rest && { gemini: rest } });
}

function readPart(raw: JsonObject): Part[] {
  const { text, thought, thoughtSignature, inlineData, fileData, functionCall, functionResponse, ...rest } = raw;
  const ext = Object.keys(rest).length > 0 ? { gemini: rest } : undefined;
  const signature = thoughtSignature as string | undefined;
  if (functionCall) {
    const { id, name, args } = objectIn(functionCall);
    const call = { type: 'tool-call', id, name, argsText: JSON.stringify(args) } as Part;
    return signature ? [{ type: 'reasoning', redacted: signature, signedBy: 'gemini' }, call] : [call];
  }
  if (thought) return [present<Part>({ type: 'reasoning', text: text as string, signature, signedBy: 'gemini', ext })];
  if (functionResponse) return [readResult(objectIn(functionResponse))];
  if (inlineData || fileData) return [present({ ...readMedia(raw), ext })];
  if (typeof text === 'string') return [present<Part>({ type: 'text', text, ext })];
  return [{ type: 'opaque', dialect: 'gemini', raw }];
}

function readMedia(raw: JsonObject): MediaPart {
  const { mimeType, data } = objectIn(raw.inlineData);
  const file = objectIn(raw.fileData);
  const mime = (mimeType ?? file.mimeType) as string;
  const source = data === undefined ? { type: 'url', url: file.fileUri } : { type: 'data', data };
  return { type: 'media', kind: kindOf(mime), source, mime } as MediaPart;
}

function readResult({ id, response, parts }: JsonObject): Part {
  const { output, error } = objectIn(response);
  const said = (output ?? error) as string | string[];
  const texts = Array.isArray(said) ? said : said === '' ? [] : [said];
  return present<Part>({
    type: 'tool-result',
    id: id as string,
    parts: [...texts.map((text) => ({ type: 'text', text }) as const), ...objectsIn(parts).map(readMedia)],
    isError: error === undefined ? undefined : true,
  });
}

function readTools(tools: unknown): Tool[] | undefined {
  const all = objectsIn(tools).flatMap((tool): Tool[] => {
    if (!Array.isArray(tool.functionDeclarations)) return [{ type: 'opaque', dialect: 'gemini', raw: tool }];
    return objectsIn(tool.functionDeclarations).map(
      ({ name, description, parameters, parametersJsonSchema, ...rest }) =>
        present<Tool>({
          type: 'function',
          name: name as string,
          description: description as string,
          parameters: (parametersJsonSchema ?? jsonSchema(objectIn(parameters))) as JsonObject,
          ext: Object.keys(rest).length > 0 ? { gemini: rest } : undefined,
        }),
    );
  });
  return all.length > 0 ? all : undefined;
}

const jsonSchema = (schema: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(schema), (name, value) => (name === 'type' ? String(value).toLowerCase() : value));

function readChoice({ mode, allowedFunctionNames }: JsonObject): ToolChoice | undefined {
  const names = allowedFunctionNames as string[] | undefined;
  if (mode === 'VALIDATED') return { type: 'allowed', mode: 'auto', names: names ?? [] };
  if (mode === 'ANY') return names ? { type: 'tool', name: names[0]! } : { type: 'required' };
  return mode === 'NONE' ? { type: 'none' } : mode === 'AUTO' ? { type: 'auto' } : undefined;
}

function readFormat(config: JsonObject): ModelRequest['responseFormat'] {
  const { responseMimeType, responseSchema, responseJsonSchema } = config;
  if (responseMimeType === undefined) return undefined;
  if (responseJsonSchema) return { type: 'schema', schema: objectIn(responseJsonSchema) };
  return responseSchema ? { type: 'schema', schema: jsonSchema(objectIn(responseSchema)) } : { type: 'json' };
}

function readThinking({ thinkingBudget, thinkingLevel }: JsonObject): ModelRequest['reasoning'] {
  if (thinkingBudget === 0) return { mode: 'off' };
  if (thinkingBudget !== undefined) return { mode: 'budget', budgetTokens: thinkingBudget as number };
  return thinkingLevel ? { effort: String(thinkingLevel).toLowerCase() as 'low' } : undefined;
}

const RAW: Readonly<Record<string, string>> = {
  stop: 'STOP',
  'tool-calls': 'STOP',
  length: 'MAX_TOKENS',
  'content-filter': 'SAFETY',
  pause: 'CONTINUATION',
};

function sayable({ choices, usage, id, model, createdAt }: ModelReply): ModelReply {
  return present<ModelReply>({
    id,
    model,
    createdAt,
    choices: choices.map(({ parts, finish }) => ({
      parts: sayableParts(parts),
      finish: { reason: RAW[finish.reason] ? finish.reason : 'stop' },
    })),
    usage: usage && sayableUsage(usage),
  });
}

const sayableUsage = ({
  inputTokens,
  outputTokens = 0,
  cachedInputTokens,
  reasoningTokens,
  audioInputTokens,
}: TokenUsage) =>
  present<TokenUsage>({
    inputTokens,
    outputTokens,
    cachedInputTokens,
    reasoningTokens: reasoningTokens === undefined ? undefined : Math.min(reasoningTokens, outputTokens),
    audioInputTokens,
    ext: audioInputTokens === undefined ? undefined : { gemini: audioDetails(audioInputTokens) },
  });

const audioDetails = (tokenCount: number) => ({ promptTokensDetails: [{ modality: 'AUDIO', tokenCount }] });

function sayableParts(parts: readonly Part[]): Part[] {
  const own = parts.flatMap((part, index): Part[] => {
    const next = parts[index + 1];
    if (part.type === 'refusal' || (part.type === 'opaque' && part.dialect !== 'gemini')) return [];
    if (part.type === 'text') return [withBytes(part)];
    if (part.type !== 'reasoning') return [part];
    if (part.redacted !== undefined) return next?.type === 'tool-call' ? [{ ...part, signedBy: 'gemini' }] : [];
    if (part.signature !== undefined) return [{ ...part, signedBy: 'gemini' }];
    // Thoughts in a row are one thought, and the signature at their end is that of all of it.
    return next?.type === 'reasoning' ? [] : [part];
  });
  return joinedRuns(own, (part) => part.type === 'text');
}

function writePart(part: Part, signature: string | undefined): JsonObject {
  switch (part.type) {
    case 'tool-call':
      return present({
        functionCall: { id: part.id, name: part.name, args: JSON.parse(part.argsText) },
        thoughtSignature: signature,
      });
    case 'reasoning':
      return present({ text: part.text, thought: true, thoughtSignature: part.signature });
    case 'opaque':
      return part.raw;
    default:
      return { text: (part as { text: string }).text };
  }
}

function writeParts(parts: readonly Part[]): JsonObject[] {
  return parts.flatMap((part, index) => {
    if (part.type === 'reasoning' && part.redacted !== undefined) return [];
    const before = parts[index - 1];
    return [writePart(part, before?.type === 'reasoning' ? before.redacted : undefined)];
  });
}

function writeUsage(usage: TokenUsage): JsonObject {
  const { inputTokens, outputTokens = 0, cachedInputTokens, reasoningTokens, audioInputTokens } = usage;
  return present({
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - (reasoningTokens ?? 0),
    thoughtsTokenCount: reasoningTokens,
    cachedContentTokenCount: cachedInputTokens,
    ...(audioInputTokens !== undefined && audioDetails(audioInputTokens)),
  });
}

const logprobsOf = (parts: readonly Part[]): JsonObject => {
  const listed = parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []));
  if (listed.length === 0) return {};
  const chosenCandidates = listed.map(({ token, logprob }) => ({ token, logProbability: logprob }));
  return { logprobsResult: { chosenCandidates, topCandidates: listed.map(() => ({ candidates: [] })) } };
};

const head = ({ id, model, createdAt }: ModelReply): JsonObject =>
  present({
    responseId: id,
    modelVersion: model,
    createTime: createdAt === undefined ? undefined : new Date(createdAt * 1000).toISOString(),
  });

function writeReply(reply: ModelReply): JsonObject {
  const candidates = reply.choices.map(({ parts, finish }, index) => ({
    index,
    content: { role: 'model', parts: writeParts(parts) },
    finishReason: RAW[finish.reason],
    ...logprobsOf(parts),
  }));
  return { ...head(reply), candidates, ...(reply.usage && { usageMetadata: writeUsage(reply.usage) }) };
}

function writeStream(reply: ModelReply, pieces: (text: string) => string[]) {
  const chunks: JsonObject[] = [];
  for (const [index, { parts, finish }] of reply.choices.entries()) {
    const add = (part: JsonObject, more: JsonObject = {}) =>
      chunks.push({ ...head(reply), candidates: [{ index, content: { role: 'model', parts: [part] }, ...more }] });
    for (const part of writeParts(parts)) {
      const texts = typeof part.text === 'string' ? pieces(part.text) : [];
      if (texts.length === 0) add(part);
      for (const [at, text] of texts.entries()) {
        const isLast = at === texts.length - 1;
        const { thoughtSignature, ...piece }: JsonObject = { ...part, text };
        add(isLast ? { ...part, text } : piece, isLast && !part.thought ? logprobsOf(parts) : {});
      }
    }
    chunks.push({ ...head(reply), candidates: [{ index, finishReason: RAW[finish.reason] }] });
  }
  if (reply.usage) chunks.push({ ...head(reply), usageMetadata: writeUsage(reply.usage) });
  return chunks.map((chunk) => ({ data: JSON.stringify(chunk) }));
}
