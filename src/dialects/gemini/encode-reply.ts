import type { Encoded, ReplyContext } from '../dialect.ts';
import type {
  Choice,
  Finish,
  FinishReason,
  JsonObject,
  ModelReply,
  Part,
  ReplyHead,
  TokenLogprob,
  TokenUsage,
} from '../ir.ts';
import { isObject, objectIn, parsed, present } from '../json.ts';
import { Losses } from '../losses.ts';
import { sealed } from './signature.ts';
import { finishReason, isFinishWord } from './wire.ts';

/** The answer of a model, for clients of Google's. */
export function encodeReply(reply: ModelReply, context: ReplyContext): Encoded<JsonObject> {
  const losses = new Losses('gemini');
  const ext = losses.requestExt(reply.ext);
  if (reply.serviceTier !== undefined) losses.node({}, 'serviceTier', 'answers of gemini do not tell it', false);
  const candidates = reply.choices.flatMap((choice, index) => {
    const candidate = encodeCandidate(choice, index, losses);
    return candidate ? [candidate] : [];
  });
  const feedback = promptFeedback(reply.choices.map(({ finish }) => finish));
  return losses.with({
    ...ext,
    ...(feedback && { promptFeedback: feedback }),
    ...(candidates.length > 0 && { candidates }),
    ...(reply.usage && { usageMetadata: encodeUsage(reply.usage, losses) }),
    ...replyHead(reply, context),
  });
}

export const replyHead = (head: ReplyHead, context: ReplyContext): JsonObject =>
  present({
    modelVersion: head.model ?? context.request.model,
    createTime: head.createdAt === undefined ? undefined : new Date(head.createdAt * 1000).toISOString(),
    responseId: head.id ?? context.id,
  });

/** What Google says of a prompt that it did not answer; such an answer has no candidates. */
export const promptFeedback = (finishes: readonly Finish[]): JsonObject | null => {
  const feedback = finishes.length === 1 ? finishes[0]!.ext?.gemini?.promptFeedback : undefined;
  return isObject(feedback) ? feedback : null;
};

function encodeCandidate({ parts, finish, ext }: Choice, index: number, losses: Losses): JsonObject | null {
  const path = `choices[${index}]`;
  const own = losses.ext({ ext }, path);
  if (promptFeedback([finish]) && parts.length === 0) return null;
  losses.ext(finish, `${path}.finish`);
  const written = parts.flatMap((part, at) => {
    const made = replyPart(part, parts[at + 1], parts[at - 1], { path: `${path}.parts[${at}]`, losses });
    return made ? [made] : [];
  });
  const hasCalls = written.some(({ functionCall }) => functionCall);
  const word = finishWord(finish);
  if (finishReason(word, hasCalls) !== finish.reason || finish.stopSequence !== undefined)
    losses.change({}, `${path}.finish`, `given as ${word}`);
  const logprobs = parts.flatMap((part) => ('logprobs' in part ? (part.logprobs ?? []) : []));
  if (logprobs.length > 0) losses.change({}, path, 'probabilities are given for the whole answer');
  return {
    content: { role: 'model', parts: written.length > 0 ? written : [NOTHING] },
    finishReason: word,
    index,
    ...(logprobs.length > 0 && { logprobsResult: encodeLogprobs(logprobs) }),
    ...own,
  };
}

/** Clients take an answer without parts for a broken one. */
export const NOTHING: JsonObject = { text: '' };

interface Noting {
  readonly path: string;
  readonly losses: Losses;
}

/** A part of an answer, all of it; null when it is said by another one, or cannot be said. */
export function replyPart(
  part: Part,
  next: Part | undefined,
  before: Part | undefined,
  { path, losses }: Noting,
): JsonObject | null {
  const ext = part.type === 'opaque' ? undefined : losses.ext(part, path);
  switch (part.type) {
    case 'text':
    case 'refusal':
      if (part.type === 'refusal' || before?.type === 'text')
        losses.change(part, path, 'given as text, with that before it');
      return { ...ext, text: part.text };
    case 'reasoning':
      // The signature of a call stands on the call.
      if (isCallSignature(part, next)) return null;
      if (part.signature === undefined && part.redacted === undefined && next?.type === 'reasoning')
        losses.change(part, path, 'joined with the thought behind it');
      return present({ ...ext, text: part.text ?? '', thought: true, thoughtSignature: sealed(part) });
    case 'tool-call': {
      const args = parsed(part.argsText || '{}');
      if (!isObject(args) || part.custom) losses.change(part, path, 'the model did not write a JSON object');
      const signature = before && isCallSignature(before, part) ? before.redacted : undefined;
      const call = { id: part.id, name: part.name, args: isObject(args) ? args : { input: part.argsText } };
      return present({ ...ext, functionCall: call, thoughtSignature: signature });
    }
    case 'media': {
      const { source, mime } = part;
      if (source.type === 'data' && mime) return { ...ext, inlineData: { mimeType: mime, data: source.data } };
      if (source.type === 'url') return { ...ext, fileData: present({ mimeType: mime, fileUri: source.url }) };
      break;
    }
    case 'opaque':
      if (part.dialect === 'gemini') return part.raw;
      break;
  }
  losses.node(part, path, 'answers of gemini cannot have this');
  return null;
}

const isCallSignature = (
  part: Part,
  next: Part | undefined,
): part is Extract<Part, { type: 'reasoning' }> & { redacted: string } =>
  part.type === 'reasoning' && part.redacted !== undefined && part.signedBy === 'gemini' && next?.type === 'tool-call';

const WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  'tool-calls': 'STOP',
  length: 'MAX_TOKENS',
  'context-overflow': 'MAX_TOKENS',
  'content-filter': 'SAFETY',
  refusal: 'SAFETY',
  pause: 'CONTINUATION',
  other: 'OTHER',
};

export const finishWord = ({ reason, raw }: Finish): string =>
  raw !== undefined && isFinishWord(raw) ? raw : WORDS[reason];

export function encodeLogprobs(logprobs: readonly TokenLogprob[]): JsonObject {
  const written = ({ token, logprob }: Omit<TokenLogprob, 'top_logprobs'>) => ({ token, logProbability: logprob });
  return {
    topCandidates: logprobs.map(({ top_logprobs }) => ({ candidates: (top_logprobs ?? []).map(written) })),
    chosenCandidates: logprobs.map(written),
  };
}

const UNCOUNTED = ['cacheWriteTokens', 'cacheWrite5mTokens', 'cacheWrite1hTokens'] as const;

/** Here thoughts are counted beside the answer. */
export function encodeUsage(usage: TokenUsage, losses = new Losses('gemini')): JsonObject {
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens } = usage;
  const ext = objectIn(losses.ext(usage, 'usage'));
  for (const name of UNCOUNTED)
    if (usage[name] !== undefined) losses.member({}, 'usage', name, 'gemini does not count this');
  if (usage.audioInputTokens !== undefined && !ext.promptTokensDetails)
    losses.member({}, 'usage', 'audioInputTokens', 'gemini counts this by modality');
  if (usage.audioOutputTokens !== undefined && !ext.candidatesTokensDetails)
    losses.member({}, 'usage', 'audioOutputTokens', 'gemini counts this by modality');
  if ((reasoningTokens ?? 0) > (outputTokens ?? 0))
    losses.change({}, 'usage', 'thoughts are counted beside the answer');
  const total =
    inputTokens === undefined && outputTokens === undefined ? undefined : (inputTokens ?? 0) + (outputTokens ?? 0);
  return present({
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens === undefined ? undefined : Math.max(0, outputTokens - (reasoningTokens ?? 0)),
    totalTokenCount: usage.totalTokens ?? total,
    cachedContentTokenCount: cachedInputTokens,
    thoughtsTokenCount: reasoningTokens,
    ...ext,
  });
}
