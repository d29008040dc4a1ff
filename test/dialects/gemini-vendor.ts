import { gemini } from '../../src/dialects/gemini/gemini.ts';
import type { JsonObject, ModelReply, ModelRequest, Part, TokenUsage } from '../../src/dialects/ir.ts';
import { present } from '../../src/dialects/json.ts';
import { joinedRuns, type VendorSide, withBytes } from './vendor-side.ts';

/** Gemini, as the laws need it. */
export const geminiSide: VendorSide = { readRequest, sayable, writeReply, writeStream };

function readRequest(body: JsonObject, model: string): ModelRequest {
  return gemini.inbound.decodeRequest({ ...body, model });
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
