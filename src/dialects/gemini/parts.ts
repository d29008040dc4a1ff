import type { JsonObject, Part, TokenLogprob, TokenUsage } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, present, restOf, someTextIn, textIn } from '../json.ts';
import { kindOf } from '../media.ts';
import { unsealed } from './signature.ts';

const TEXT_MEMBERS = new Set(['text', 'thought', 'thoughtSignature']);
const CALL_MEMBERS = new Set(['functionCall', 'thoughtSignature']);
const MEDIA_MEMBERS = new Set(['inlineData', 'fileData', 'thought', 'thoughtSignature']);

function withExt<Value extends Part>(part: Value, raw: JsonObject, known: ReadonlySet<string>): Value {
  const rest = restOf(raw, known);
  return rest ? { ...part, ext: { gemini: rest } } : part;
}

/**
 * A part of an answer. In Gemini's JSON, signatures are members of parts. In the representation they are thoughts of
 * their own, so that clients of every dialect can send them back: the signature of a call becomes a redacted thought
 * before the call, that of a text becomes a thought behind it. `encode-contents.ts` puts them back.
 */
export function readPart(raw: JsonObject, newCallId: () => string): Part[] {
  const signature = someTextIn(raw.thoughtSignature);
  const signed = signature === undefined ? undefined : unsealed(signature);
  if (isObject(raw.functionCall)) {
    const call = withExt(readCall(raw.functionCall, newCallId), raw, CALL_MEMBERS);
    return signature === undefined ? [call] : [{ type: 'reasoning', redacted: signature, signedBy: 'gemini' }, call];
  }
  const text = textIn(raw.text);
  if (text === undefined) return readMedia(raw, signature);
  if (raw.thought === true)
    return text || signed
      ? [
          withExt(
            present({ type: 'reasoning', text: signed?.redacted ? undefined : text, ...signed }),
            raw,
            TEXT_MEMBERS,
          ),
        ]
      : [];
  const said: Part[] = text ? [withExt({ type: 'text', text }, raw, TEXT_MEMBERS)] : [];
  return signed ? [...said, { type: 'reasoning', ...signed }] : said;
}

/** Gemini does not always give its calls an id. */
function readCall(call: JsonObject, newCallId: () => string): Extract<Part, { type: 'tool-call' }> {
  return {
    type: 'tool-call',
    id: someTextIn(call.id) ?? newCallId(),
    name: textIn(call.name) ?? '',
    argsText: JSON.stringify(objectIn(call.args)),
  };
}

function readMedia(raw: JsonObject, signature: string | undefined): Part[] {
  const { mimeType, data } = objectIn(raw.inlineData);
  const { mimeType: fileType, fileUri } = objectIn(raw.fileData);
  const mime = someTextIn(mimeType) ?? someTextIn(fileType);
  const source =
    typeof data === 'string'
      ? ({ type: 'data', data } as const)
      : typeof fileUri === 'string'
        ? ({ type: 'url', url: fileUri } as const)
        : undefined;
  // Code that Google runs, and whatever it invents; it goes back as it came.
  if (!source || raw.thought === true) return [{ type: 'opaque', dialect: 'gemini', raw }];
  const kind = mime ? kindOf(mime) : 'document';
  const part = withExt(present<Part>({ type: 'media', kind, source, mime }), raw, MEDIA_MEMBERS);
  if (signature === undefined) return [part];
  return [{ ...part, ext: { gemini: { ...part.ext?.gemini, thoughtSignature: signature } } }];
}

export function readLogprobs(result: unknown): TokenLogprob[] {
  const { chosenCandidates, topCandidates } = objectIn(result);
  const tops = Array.isArray(topCandidates) ? topCandidates : [];
  return objectsIn(chosenCandidates).map((chosen, index) => ({
    ...readToken(chosen),
    top_logprobs: objectsIn(objectIn(tops[index]).candidates).map(readToken),
  }));
}

function readToken({ token, logProbability }: JsonObject): Omit<TokenLogprob, 'top_logprobs'> {
  const text = textIn(token) ?? '';
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  };
}

const COUNTED = new Set([
  'promptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'toolUsePromptTokenCount',
  'cachedContentTokenCount',
  'totalTokenCount',
]);

/** Here thoughts are counted beside the answer, and results of Google's own tools beside the prompt. */
export function readUsage(usage: JsonObject): TokenUsage {
  const sum = (...counts: readonly unknown[]): number | undefined => {
    const known = counts.map(countIn).filter((count) => count !== undefined);
    return known.length > 0 ? known.reduce((total, count) => total + count, 0) : undefined;
  };
  const inputTokens = sum(usage.promptTokenCount, usage.toolUsePromptTokenCount);
  const outputTokens = sum(usage.candidatesTokenCount, usage.thoughtsTokenCount);
  const total = countIn(usage.totalTokenCount);
  const rest = restOf(usage, COUNTED);
  return present<TokenUsage>({
    inputTokens,
    outputTokens,
    totalTokens: total === (inputTokens ?? 0) + (outputTokens ?? 0) ? undefined : total,
    cachedInputTokens: countIn(usage.cachedContentTokenCount),
    reasoningTokens: countIn(usage.thoughtsTokenCount),
    audioInputTokens: audioIn(usage.promptTokensDetails),
    audioOutputTokens: audioIn(usage.candidatesTokensDetails),
    ext: rest && { gemini: rest },
  });
}

const audioIn = (details: unknown): number | undefined =>
  countIn(objectsIn(details).find(({ modality }) => modality === 'AUDIO')?.tokenCount);
